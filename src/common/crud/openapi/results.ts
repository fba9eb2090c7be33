import { ApiProperty } from '@nestjs/swagger';
import { OBJECT_ID_PATTERN } from '../../ids/index.js';

/** The answer to a count. */
export class CountResult {
  @ApiProperty({ type: 'integer', minimum: 0, example: 42 })
  count!: number;
}

/** The answer to a create that asks for no representation. */
export class CreatedResult {
  @ApiProperty({
    description: 'Identifier of the new record',
    pattern: OBJECT_ID_PATTERN,
    example: '665f1c2ab7e3a90d4c8b4567',
  })
  _id!: string;
}

/** The answer to an update. */
export class UpdatedResult {
  @ApiProperty({ enum: [true], type: Boolean })
  updated!: true;
}

/** The answer to a delete that archives. */
export class ArchivedResult {
  @ApiProperty({ enum: [true], type: Boolean })
  archived!: true;
}

/** The answer to a restore. */
export class RestoredResult {
  @ApiProperty({ enum: [true], type: Boolean })
  restored!: true;
}

/** The answer to a delete. */
export class DeletedResult {
  @ApiProperty({ enum: [true], type: Boolean })
  deleted!: true;
}
