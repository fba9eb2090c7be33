import type { Type } from '@nestjs/common';
import { TransformationType } from 'class-transformer';
import { defaultMetadataStorage } from 'class-transformer/cjs/storage.js';
import { getMetadataStorage, IsOptional } from 'class-validator';
import type { ValidationMetadata } from 'class-validator/types/metadata/ValidationMetadata.js';
import { FieldDeclaration } from './field-rule.js';
import { type FieldSource, sourcesOf } from './fields.js';
import { isConditional, validationsOf } from './metadata.js';
import { LIST_RULES, PLAIN_RULES } from './plain-rules.js';

/** How a field of a body is read. */
export interface ReadField {
  readonly source: FieldSource;
  /** The functions of `@Transform()`. */
  readonly transforms: readonly ((params: object) => unknown)[];
  /**
   * Whether one of its validators may see values of another kind. Class-validator's own check the type first; others
   * may throw. For nested objects and dates, their messages mean nothing to a JSON client, so only a message by the
   * author is used.
   */
  readonly checksType: boolean;
}

/** How bodies of a class are read. */
export interface ReadClass {
  /** A subclass, whose validators class-validator runs. */
  readonly type: Type<object>;
  readonly fields: ReadonlyMap<string, ReadField>;
  /** Makes an instance without initial values. */
  empty(): object;
}

const known = {
  whole: new WeakMap<Type<object>, ReadClass>(),
  partial: new WeakMap<Type<object>, ReadClass>(),
};

/** How bodies of a class are read; in the partial form every field is optional, whatever its conditions. */
export function readClassOf(type: Type<object>, isPartial: boolean): ReadClass {
  const classes = isPartial ? known.partial : known.whole;
  const found = classes.get(type) ?? makeReadClass(type, isPartial);
  classes.set(type, found);
  return found;
}

/**
 * The validators of the subclass run in the order that a person would check in: types before bounds. So the first
 * fault is the meaningful one, and bounds never see a value of another type.
 */
function makeReadClass(type: Type<object>, isPartial: boolean): ReadClass {
  class Checked extends (type as Type) {}
  Object.defineProperty(Checked, 'name', { value: type.name });
  const validations = validationsOf(type);
  const fields = sourcesOf(type).map((source): [string, ReadField] => {
    const own = validations.filter(({ propertyName }) => propertyName === source.name);
    for (const metadata of own.toSorted((a, b) => rankOf(a) - rankOf(b))) {
      if (isPartial && isConditional(metadata)) continue;
      getMetadataStorage().addValidationMetadata({ ...metadata, target: Checked });
    }
    if (isPartial) IsOptional()(Checked.prototype as object, source.name);
    const transforms = defaultMetadataStorage.findTransformMetadatas(
      type,
      source.name,
      TransformationType.PLAIN_TO_CLASS,
    );
    return [
      source.name,
      {
        source,
        transforms: transforms.map(({ transformFn }) => transformFn),
        checksType: checksType(source, own),
      },
    ];
  });
  return {
    type: Checked as Type<object>,
    fields: new Map(fields),
    empty: () => Object.create(Checked.prototype as object) as object,
  };
}

function checksType({ kind }: FieldSource, validations: readonly ValidationMetadata[]): boolean {
  if (kind === 'nested' || (kind === 'timestamp' && !validations.some(({ message }) => message)))
    return false;
  return validations.some(
    ({ name = '', type }) => type === 'nestedValidation' || name in PLAIN_RULES || name in LIST_RULES,
  );
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
