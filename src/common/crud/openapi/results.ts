import { ApiProperty } from '@nestjs/swagger';
import { OBJECT_ID_PATTERN } from '../../ids/index.js';

/** The response to a count. */
export class CountResult {
  @ApiProperty({ type: 'integer', minimum: 0, example: 42 })
  count!: number;
}

/** The response to a create that does not ask for a representation. */
export class CreatedResult {
  @ApiProperty({
    description: 'Identifier of the new record',
    pattern: OBJECT_ID_PATTERN,
    example: '665f1c2ab7e3a90d4c8b4567',
  })
  _id!: string;
}

/** The response to an update. */
export class UpdatedResult {
  @ApiProperty({ enum: [true], type: Boolean })
  updated!: true;
}

/** The response to a delete that archives. */
export class ArchivedResult {
  @ApiProperty({ enum: [true], type: Boolean })
  archived!: true;
}

/** The response to a restore. */
export class RestoredResult {
  @ApiProperty({ enum: [true], type: Boolean })
  restored!: true;
}

/** The response to a delete. */
export class DeletedResult {
  @ApiProperty({ enum: [true], type: Boolean })
  deleted!: true;
}
