import { ApiProperty } from '@nestjs/swagger';
import { partOf, schemaClass, type Stored } from '../../common/crud/index.js';
import { jsonSchemaOf } from '../../common/fields/index.js';
import { OBJECT_ID_PATTERN } from '../../common/ids/index.js';
import { TodoInput } from '../dto/todo-input.js';
import type { Todo } from '../todo.schema.js';

/** The body of a create. */
export class TodoCreate extends TodoInput {}

/** The body of an update (RFC 7396). */
export class TodoUpdate extends schemaClass('TodoUpdate', jsonSchemaOf(TodoInput, { partial: true })) {}

/** A todo as clients see it. */
export class TodoRecord extends TodoInput {
  @ApiProperty({ pattern: OBJECT_ID_PATTERN, example: '665f1c2ab7e3a90d4c8b4567' })
  _id!: string;

  // Every todo has it: a create without it gets the default.
  @ApiProperty({ required: true })
  override completed?: boolean = false;

  @ApiProperty({ format: 'date-time' })
  createdAt?: Date;

  @ApiProperty({ format: 'date-time' })
  updatedAt?: Date;

  /** Picks the fields that a client may see. */
  static from({
    _id,
    title,
    description,
    completed = false,
    dueAt,
    createdAt,
    updatedAt,
  }: Stored<Todo>): TodoRecord {
    return { _id: _id.toHexString(), title, description, completed, dueAt, createdAt, updatedAt };
  }
}

/** A todo with only the requested `fields`. */
export class TodoPart extends partOf(TodoRecord) {}

/** One page of todos. */
export class TodoPage {
  @ApiProperty({ type: [TodoRecord], maxItems: 100 })
  results!: TodoRecord[];

  @ApiProperty({ type: 'integer', minimum: 0, description: 'Number of records in all, whatever the page' })
  count!: number;
}
