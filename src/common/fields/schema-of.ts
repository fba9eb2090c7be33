import type { Type } from '@nestjs/common';
import { VirtualsFactory } from '@nestjs/mongoose';
import { Schema } from 'mongoose';
import { schemaOptionsOf } from './metadata.js';
import { definitionOf } from './store-of.js';

/**
 * Mongoose schema of an entity, from its `@Prop()`s and its field decorators; a new one for each call. Nested
 * classes become subschemas without `_id`. An explicit option of `@Prop()` overrides the field decorator.
 */
export function schemaOf(entity: Type<object>): Schema {
  const schema = new Schema(definitionOf(entity), schemaOptionsOf(entity));
  VirtualsFactory.inspect(entity, schema);
  return schema;
}
