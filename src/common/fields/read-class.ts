import type { Type } from '@nestjs/common';
import { TransformationType, type TransformMetadata } from 'class-transformer';
import { defaultMetadataStorage } from 'class-transformer/cjs/storage.js';
import { getMetadataStorage, IsOptional } from 'class-validator';
import type { ValidationMetadata } from 'class-validator/types/metadata/ValidationMetadata.js';
import { FieldDeclaration, type FieldDescription } from './field-rule.js';
import { sourcesOf } from './fields.js';
import { enumKind, KINDS, type ValueKind } from './kinds.js';
import { isConditional, oncePerClass, validationsOf } from './metadata.js';
import { constraintOf, isPlainRule, PLAIN_RULES } from './plain-rules.js';

/** How a field of a body is read. */
export interface ReadField {
  readonly source: FieldDescription;
  /** What its values, or the entries of its list, are. */
  readonly valueKind: ValueKind;
  /** The functions of `@Transform()`. */
  readonly transforms: readonly TransformMetadata['transformFn'][];
  /** The author's message about a value of another kind. @default a message of the reader's own */
  readonly message?: ValidationMetadata['message'];
}

/** How bodies of a class are read. */
export interface ReadClass {
  /** A subclass, whose validators class-validator runs. */
  readonly type: Type<object>;
  readonly fields: ReadonlyMap<string, ReadField>;
  /** Makes an instance without initial values. */
  empty(): object;
}

export const wholeClassOf = oncePerClass((type) => makeReadClass(type, false));

/** The same, where every field is optional, whatever its conditions: a part of a body is read. */
export const partialClassOf = oncePerClass((type) => makeReadClass(type, true));

/** Validators run as they are written: field decorators, class-validator's, and those of the author, who count on both. */
function makeReadClass(type: Type<object>, isPartial: boolean): ReadClass {
  class Checked extends (type as Type) {}
  Object.defineProperty(Checked, 'name', { value: type.name });
  const validations = validationsOf(type);
  const fields = sourcesOf(type).map((source): [string, ReadField] => {
    const own = validations.filter(({ propertyName }) => propertyName === source.name);
    for (const metadata of own.toReversed().sort((a, b) => rankOf(a) - rankOf(b))) {
      if (isPartial && isConditional(metadata)) continue;
      getMetadataStorage().addValidationMetadata({ ...metadata, target: Checked });
    }
    if (isPartial) IsOptional()(Checked.prototype as object, source.name);
    const transforms = defaultMetadataStorage
      .findTransformMetadatas(type, source.name, TransformationType.PLAIN_TO_CLASS)
      .map(({ transformFn }) => transformFn);
    const { message } = own.find((one) => decidesKind(one, source) && one.message) ?? {};
    const valueKind = source.kind === 'enum' ? enumKind(source.values ?? []) : KINDS[source.kind];
    return [source.name, { source, valueKind, transforms, message }];
  });
  return {
    type: Checked as Type<object>,
    fields: new Map(fields),
    empty: () => Object.create(Checked.prototype as object) as object,
  };
}

function rankOf(validation: ValidationMetadata): number {
  if ((validation.constraints as unknown[] | undefined)?.[0] instanceof FieldDeclaration) return 0;
  return isPlainRule(constraintOf(validation)) ? 1 : 2;
}

/** Nested objects have a message of class-validator's, which means nothing to a JSON client. */
function decidesKind(validation: ValidationMetadata, { kind }: FieldDescription): boolean {
  return kind !== 'nested' && PLAIN_RULES[constraintOf(validation)]?.kind === kind;
}
