import type { Type } from '@nestjs/common';
import { getMetadataStorage } from 'class-validator';

/** The fields of an input class. */
export interface InputFields {
  readonly all: readonly string[];
  /** Those that a create cannot leave out. */
  readonly required: readonly string[];
}

/** Reads the fields of an input class from its class-validator decorators. */
export function inputFieldsOf(input: Type<object>): InputFields {
  const metadata = getMetadataStorage().getTargetValidationMetadatas(input, '', false, false);
  const all = [...new Set(metadata.map(({ propertyName }) => propertyName))];
  const optional = new Set(
    metadata.filter(({ type }) => type === 'conditionalValidation').map(({ propertyName }) => propertyName),
  );
  return { all, required: all.filter((name) => !optional.has(name)) };
}
