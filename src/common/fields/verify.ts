import type { Type } from '@nestjs/common';
import {
  getMetadataStorage,
  IsOptional,
  validate,
  type ValidationError as FieldError,
} from 'class-validator';
import type { ValidationMetadata } from 'class-validator/types/metadata/ValidationMetadata.js';
import { isObjectId } from '../ids/index.js';
import { type FaultList, fieldMessages, pointerTo, SHAPES } from './fault-list.js';
import { FieldDeclaration } from './field-rule.js';
import { type FieldSource, sourcesOf } from './field-source.js';
import { put } from './instantiate.js';
import { isWellFormed } from './is-text.js';
import { isConditional, validationsOf } from './metadata.js';
import { isPlainObject, plainLeaf } from './plain-object.js';
import { LIST_RULES, PLAIN_RULES } from './plain-rules.js';
import { isTimestampDate } from './timestamps.js';

/**
 * The form of a value: `whole`; a merge `patch`, whose nested objects are also partial; or some fields of a
 * whole value after a patch was `merged` into them.
 */
export type ValueForm = 'whole' | 'patch' | 'merged';

/** The form of the object in a field of a value. */
function memberForm(form: ValueForm): ValueForm {
  return form === 'patch' ? 'patch' : 'whole';
}

const VALIDATOR_OPTIONS = {
  forbidUnknownValues: true,
  stopAtFirstError: true,
  validationError: { target: false, value: false },
} as const;

/** Checks a value with the validators of a class, and adds what they reject to the faults. */
export async function verify(
  type: Type<object>,
  value: object,
  form: ValueForm,
  faults: FaultList,
): Promise<void> {
  const unnoticed = new Map<string, string>();
  const checked = checkedCopy(type, value, form, { faults, unnoticed, at: '' });
  for (const error of await validate(checked, VALIDATOR_OPTIONS)) addFaults(error, '', faults);
  for (const [at, fault] of unnoticed) if (!faults.has(at)) faults.add(at, fault);
}

interface CopyContext {
  readonly faults: FaultList;
  /**
   * Values of another kind than their field's, by pointer: faults, unless the validators reject them anyway.
   */
  readonly unnoticed: Map<string, string>;
  readonly at: string;
}

/** A copy for class-validator, which finds its rules by the class of each object. Null counts as omitted. */
function checkedCopy(type: Type<object>, value: object, form: ValueForm, context: CopyContext): object {
  const checkedType = validationClassOf(type, form === 'whole' ? 'whole' : 'partial');
  const copy = Object.create(checkedType.prototype as object) as object;
  for (const field of sourcesOf(type)) {
    const at = pointerTo(context.at, field.name);
    const member = (value as Record<string, unknown>)[field.name];
    if (member !== undefined && member !== null) {
      put(copy, field.name, checkedMember(field, member, form, { ...context, at }));
      const fault = kindFault(field, (copy as Record<string, unknown>)[field.name]);
      // Validators that do not check the type may throw at a value of another one, and any at malformed text.
      const isWithheld =
        !selfCheckedFieldsOf(type).has(field.name) || fault === fieldMessages.malformedText(field.name);
      if (fault !== undefined && isWithheld && !context.faults.has(at)) context.faults.add(at, fault);
      else if (fault !== undefined) context.unnoticed.set(at, fault);
    }
    if (context.faults.has(at)) skipField(copy, field.name);
  }
  return copy;
}

function checkedMember(field: FieldSource, value: unknown, form: ValueForm, context: CopyContext): unknown {
  if (!field.list || !Array.isArray(value)) {
    return checkedEntry(field, value, memberForm(form), context);
  }
  return Array.from(value as unknown[], (entry, index) =>
    checkedEntry(field, entry, 'whole', { ...context, at: pointerTo(context.at, index) }),
  );
}

function checkedEntry(field: FieldSource, value: unknown, form: ValueForm, context: CopyContext): unknown {
  const { nested } = field;
  return nested && isPlainObject(value) ? checkedCopy(nested, value, form, context) : plainLeaf(field, value);
}

function addFaults(
  { property, constraints = {}, children = [] }: FieldError,
  parent: string,
  faults: FaultList,
): void {
  // An object whose class has no rules is reported without its own name.
  const at = (property as string | undefined) === undefined ? parent : pointerTo(parent, property);
  const [first] = Object.entries(constraints);
  if (first) {
    const [name, detail] = first;
    faults.add(
      at,
      name === 'unknownValue' ? fieldMessages.noFields : detail || fieldMessages.notValid(property),
    );
  }
  for (const child of children) addFaults(child, at, faults);
}

/**
 * A sentence about a value that is not of its field's kind; undefined if it is. Plain decorators accept such
 * values: `@IsString({ each: true })` accepts a string for a list, and the store would then convert one to
 * the other.
 */
function kindFault(field: FieldSource, value: unknown): string | undefined {
  // A field decorator has its own sentence for everything that it rejects.
  if (field.declaration) return undefined;
  const { name, list } = field;
  const entries: unknown[] = list && Array.isArray(value) ? value : [value];
  const hasMalformedText = entries.some((entry) => typeof entry === 'string' && !isWellFormed(entry));
  // Values without a class were checked when they were read.
  if (hasMalformedText && field.kind !== 'other') return fieldMessages.malformedText(name);
  if (!list) return fits(field, value) ? undefined : fieldMessages.wrongShape(name, shapeOf(field));
  if (!Array.isArray(value)) return fieldMessages.wrongShape(name, 'an array');
  if (entries.some((entry) => entry === null || entry === undefined)) return fieldMessages.nullInList(name);
  if (entries.every((entry) => fits(field, entry))) return undefined;
  return fieldMessages.wrongShape(name, `an array, each entry ${shapeOf(field)}`);
}

function shapeOf({ kind, values = [] }: FieldSource): string {
  return SHAPES[kind] ?? `one of ${values.map((value) => JSON.stringify(value)).join(', ')}`;
}

function fits({ kind, values }: FieldSource, value: unknown): boolean {
  switch (kind) {
    case 'text':
    case 'decimal':
      return typeof value === 'string';
    case 'integer':
      return Number.isInteger(value);
    case 'number':
      // JSON can write numbers that are too large for a double, such as 1e999.
      return Number.isFinite(value);
    case 'flag':
      return typeof value === 'boolean';
    case 'timestamp':
      return isTimestampDate(value);
    case 'identifier':
      return isObjectId(value);
    case 'enum':
      return values?.includes(value as string) !== false;
    case 'nested':
      return isPlainObject(value);
    case 'other':
      return true;
  }
}

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
function validationClassOf(type: Type<object>, form: 'whole' | 'partial'): Type<object> {
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
function skipField(object: object, name: string): void {
  const refused = refusedFields.get(object) ?? new Set();
  refusedFields.set(object, refused.add(name));
}

/**
 * Names of the fields whose validators may see values of another kind. Class-validator's own validators check
 * the type first; others may throw. For nested objects and dates, its messages mean nothing to a JSON client,
 * so only a message by the author is used.
 */
function selfCheckedFieldsOf(type: Type<object>): ReadonlySet<string> {
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
const TYPES =
  'isDefined isArray isObject isString isInt isNumber isBoolean isDate isEnum isIn isMongoId'.split(' ');

function rankOf({ name = '', type, constraints }: ValidationMetadata): number {
  if ((constraints as unknown[] | undefined)?.[0] instanceof FieldDeclaration) return 0;
  const index = TYPES.indexOf(name);
  if (index >= 0) return index;
  if (name in LIST_RULES) return TYPES.length;
  if (name in PLAIN_RULES) return TYPES.length + (name.startsWith('is') ? 1 : 2);
  return TYPES.length + (type === 'nestedValidation' ? 3 : 4);
}
