import type { Type } from '@nestjs/common';
import type { JsonSchema } from './json-schema.js';

/** OpenAPI object schema of a class. */
export function jsonSchemaOf(_target: Type<object>, _options: { partial?: boolean } = {}): JsonSchema {
  throw new Error('jsonSchemaOf is not written yet');
}
