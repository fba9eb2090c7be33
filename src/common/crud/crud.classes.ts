import type { Type } from '@nestjs/common';
import { ApiProperty, PartialType } from '@nestjs/swagger';
import { type InputFields, inputFieldsOf } from './input-fields.js';
import { PAGE_LIMITS } from './query/page-query.js';

/** The classes of a resource's bodies: what Nest validates by and the explorer documents. */
export interface CrudClasses<Entity, Input> {
  readonly create: Type<Input>;
  readonly update: Type<Partial<Input>>;
  readonly record: Type<Entity>;
  readonly page: Type<unknown>;
}

/** Bodies that are the same for every resource. */
export class CountResult {
  @ApiProperty({ type: 'integer', minimum: 0, example: 42 })
  count!: number;
}

export class CreatedResult {
  @ApiProperty({
    description: 'Identifier of the new record',
    pattern: '^[0-9a-f]{24}$',
    example: '665f1c2ab7e3a90d4c8b4567',
  })
  _id!: string;
}

export class UpdatedResult {
  @ApiProperty({ enum: [true], type: Boolean })
  updated!: true;
}

export class DeletedResult {
  @ApiProperty({ enum: [true], type: Boolean })
  deleted!: true;
}

/** Makes a resource's classes. Each has a name of its own: classes that share one would share one schema. */
export function createBodyClasses<Entity extends object, Input extends object>(
  entity: Type<Entity>,
  input: Type<Input>,
  fields: InputFields,
): CrudClasses<Entity, Input> {
  class CreateBody extends (input as Type<object>) {}
  class UpdateBody extends MergePatchOf(input as Type<object>, fields) {}

  class Record extends (entity as Type<object>) {}
  ApiProperty({ type: String, pattern: '^[0-9a-f]{24}$', example: '665f1c2ab7e3a90d4c8b4567' })(
    Record.prototype,
    '_id',
  );
  for (const field of ['createdAt', 'updatedAt']) {
    ApiProperty({ type: String, format: 'date-time', example: '2026-01-31T09:00:00.000Z' })(
      Record.prototype,
      field,
    );
  }

  class RecordPage {
    @ApiProperty({ type: [Record], maxItems: PAGE_LIMITS.limit.maximum })
    results!: unknown[];

    @ApiProperty({ type: 'integer', minimum: 0, description: 'Records in all, whatever the page' })
    count!: number;
  }

  rename(CreateBody, `${entity.name}Create`);
  rename(UpdateBody, `${entity.name}Update`);
  rename(Record, entity.name);
  rename(RecordPage, `${entity.name}Page`);
  return {
    create: CreateBody as Type<Input>,
    update: UpdateBody as Type<Partial<Input>>,
    record: Record as Type<Entity>,
    page: RecordPage,
  };
}

/** The class of an update's body (RFC 7396): every field optional, and null for those that may be removed. */
export function MergePatchOf<Input extends object>(
  input: Type<Input>,
  fields = inputFieldsOf(input),
): Type<Partial<Input>> {
  class MergePatch extends PartialType(input as Type<object>) {}
  for (const field of fields.all.filter((name) => !fields.required.includes(name))) {
    ApiProperty({ nullable: true, required: false })(MergePatch.prototype, field);
  }
  return MergePatch as Type<Partial<Input>>;
}

function rename(target: Type<unknown>, name: string): void {
  Object.defineProperty(target, 'name', { value: name });
}
