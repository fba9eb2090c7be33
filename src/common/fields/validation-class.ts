import type { Type } from '@nestjs/common';
import { getMetadataStorage, IsOptional } from 'class-validator';
import type { ValidationMetadata } from 'class-validator/types/metadata/ValidationMetadata.js';
import { type FieldSource, sourcesOf } from './field-source.js';
import { isConditional, validationsOf } from './metadata.js';
import { FieldDeclaration } from './field-rule.js';
import { LIST_RULES, PLAIN_RULES } from './plain-rules.js';

const classes = {
  whole: new WeakMap<Type<object>, Type<object>>(),
  partial: new WeakMap<Type<object>, Type<object>>(),
};
const selfChecked = new WeakMap<Type<object>, ReadonlySet<string>>();
const refusedFields = new WeakMap<object, Set<string>>();

/**
 * A subclass whose validators run in the order that a person would check in: types before bounds. So the
 * first fault is the meaningful one, and bounds never see a value of another type. In the partial form every
 * field is optional, whatever its conditions.
 */
export function validationClassOf(type: Type<object>, form: 'whole' | 'partial'): Type<object> {
  const known = classes[form].get(type);
  if (known) return known;
  class Checked extends (type as Type) {}
  Object.defineProperty(Checked, 'name', { value: type.name });
  const validations = validationsOf(type).filter((metadata) => form === 'whole' || !isConditional(metadata));
  for (const { name } of sourcesOf(type)) {
    const own = validations.filter(({ propertyName }) => propertyName === name);
    for (const metadata of own.sort((a, b) => rankOf(a) - rankOf(b))) register(metadata, Checked);
    if (form === 'partial') IsOptional()(Checked.prototype as object, name);
    skipRefused(name, Checked);
  }
  classes[form].set(type, Checked);
  return Checked;
}

/** Excludes a field of an object from validation, because its fault is already known. */
export function skipField(object: object, name: string): void {
  const refused = refusedFields.get(object) ?? new Set();
  refusedFields.set(object, refused.add(name));
}

/**
 * Names of the fields whose validators may see values of another kind. Class-validator's own validators check
 * the type first; others may throw. For nested objects and dates, its messages mean nothing to a JSON client,
 * so only a message by the author is used.
 */
export function selfCheckedFieldsOf(type: Type<object>): ReadonlySet<string> {
  const names =
    selfChecked.get(type) ??
    new Set(
      sourcesOf(type)
        .filter(isSelfChecked(type))
        .map(({ name }) => name),
    );
  selfChecked.set(type, names);
  return names;
}

function isSelfChecked(type: Type<object>): (field: FieldSource) => boolean {
  const validations = validationsOf(type);
  return ({ name, kind }) => {
    const own = validations.filter(({ propertyName }) => propertyName === name);
    const speaksJson = kind !== 'timestamp' || own.some(({ message }) => message);
    return kind !== 'nested' && speaksJson && own.some(checksType);
  };
}

function checksType({ name = '', type }: ValidationMetadata): boolean {
  return type === 'nestedValidation' || name in PLAIN_RULES || name in LIST_RULES;
}

function register(metadata: ValidationMetadata, target: Type<object>): void {
  getMetadataStorage().addValidationMetadata({ ...metadata, target });
}

function skipRefused(name: string, target: Type<object>): void {
  const condition = (object: object) => refusedFields.get(object)?.has(name) !== true;
  getMetadataStorage().addValidationMetadata({
    type: 'conditionalValidation',
    name: 'isNotRefused',
    target,
    propertyName: name,
    constraints: [condition],
  } as unknown as ValidationMetadata);
}

/** Types that a value must have, from the outside in. */
const TYPES = [
  'isDefined',
  'isArray',
  'isObject',
  'isString',
  'isInt',
  'isNumber',
  'isBoolean',
  'isDate',
  'isEnum',
  'isIn',
  'isMongoId',
];

function rankOf({ name = '', type, constraints }: ValidationMetadata): number {
  if ((constraints as unknown[] | undefined)?.[0] instanceof FieldDeclaration) return 0;
  const index = TYPES.indexOf(name);
  if (index >= 0) return index;
  if (name in LIST_RULES) return TYPES.length;
  if (name in PLAIN_RULES) return TYPES.length + (name.startsWith('is') ? 1 : 2);
  return TYPES.length + (type === 'nestedValidation' ? 3 : 4);
}
