import { Injectable } from '@nestjs/common';
import { InjectModel } from '@nestjs/mongoose';
import { Model, type Types } from 'mongoose';
import {
  type Changes,
  type EntityTags,
  type PagePosition,
  revisionsOf,
  type Stored,
} from '../../common/crud/index.js';
import { CRUD_CONNECTION, Database, OPERATION_LIMITS, STREAM_BATCH } from '../../common/database/index.js';
import { PreconditionFailedError, RecordNotFoundError } from '../../common/errors/index.js';
import { fieldsOf } from '../../common/fields/index.js';
import type { Reservation } from '../../common/idempotency/index.js';
import { TodoInput } from '../dto/todo-input.js';
import { Todo } from '../todo.schema.js';

/** Defaults that null restores instead of removing the field. */
const DEFAULTS = new Map(fieldsOf(TodoInput).map((field) => [field.name, field.default]));
const NEWEST_FIRST = { createdAt: -1, _id: -1 } as const;

/** The verbs of todos, written by hand over the Mongoose model. */
@Injectable()
export class TodosService {
  constructor(
    @InjectModel(Todo.name, CRUD_CONNECTION) private readonly todos: Model<Todo>,
    private readonly database: Database,
  ) {}

  /** Every todo, newest first, read from the database as it is consumed. */
  list(): AsyncIterable<Stored<Todo>> {
    const query = this.todos.find().sort(NEWEST_FIRST).lean<Stored<Todo>>();
    return this.database.iterate(() => query.cursor({ batchSize: STREAM_BATCH }));
  }

  /** One page of the list, and the total number of todos. */
  async page({ offset, limit }: PagePosition): Promise<{ results: Stored<Todo>[]; count: number }> {
    const options = { ...OPERATION_LIMITS, sort: NEWEST_FIRST, skip: offset, limit };
    const found = this.todos.find({}, null, options).lean<Stored<Todo>[]>();
    // Without a condition, the server would read every record. With this hint, it counts the keys of the index.
    const counted = this.todos.countDocuments({}, { ...OPERATION_LIMITS, hint: NEWEST_FIRST });
    const [results, count] = await Promise.all([
      this.database.call(() => found.exec()),
      this.database.call(() => counted.exec()),
    ]);
    return { results, count };
  }

  /** @throws RecordNotFoundError if no todo has the id */
  async get(id: string): Promise<Stored<Todo>> {
    const todo = await this.find(id);
    if (!todo) throw new RecordNotFoundError(Todo.name);
    return todo;
  }

  private async find(id: string | Types.ObjectId): Promise<Stored<Todo> | undefined> {
    const query = this.todos.findById(id, null, { ...OPERATION_LIMITS }).lean<Stored<Todo>>();
    return (await this.database.call(() => query.exec())) ?? undefined;
  }

  /** Stores a todo; only once if the request has a key. */
  async create(input: TodoInput, reservation?: Reservation): Promise<Stored<Todo>> {
    const insert = (id?: Types.ObjectId) => this.insert(input, id);
    return reservation ? reservation.once('todos', { find: (id) => this.find(id), insert }) : insert();
  }

  private async insert(input: TodoInput, _id?: Types.ObjectId): Promise<Stored<Todo>> {
    const todo = new this.todos({ ...(_id && { _id }), ...input }, undefined, { strict: 'throw' });
    await this.database.call(async () => todo.save());
    return todo.toObject<Stored<Todo>>();
  }

  /**
   * Sets the given fields and returns the updated todo. Null removes a field or resets it to its default.
   *
   * @throws RecordNotFoundError if no todo has the id, PreconditionFailedError if it has none of the tags
   */
  async update(id: string, changes: Changes<TodoInput>, ifMatch: EntityTags = '*'): Promise<Stored<Todo>> {
    const entries = Object.entries(changes)
      .filter(([, value]) => value !== undefined)
      .map(([field, value]): [string, unknown] => [field, value ?? DEFAULTS.get(field) ?? null]);
    const isRemoved = ([, value]: [string, unknown]) => value === null;
    const $set = Object.fromEntries(entries.filter((entry) => !isRemoved(entry)));
    const $unset = Object.fromEntries(entries.filter(isRemoved));
    const filter = matching(id, ifMatch);
    const query =
      entries.length === 0
        ? this.todos.findOne(filter, null, { ...OPERATION_LIMITS })
        : this.todos.findOneAndUpdate(
            filter,
            { $set, $unset, $inc: { __v: 1 } },
            { ...OPERATION_LIMITS, runValidators: true, returnDocument: 'after' },
          );
    const todo = await this.database.call(() => query.lean<Stored<Todo>>().exec());
    return todo ?? this.rejectUnmatched(id);
  }

  /** Removes the todo for good. @throws RecordNotFoundError, PreconditionFailedError as an update does */
  async del(id: string, ifMatch: EntityTags = '*'): Promise<void> {
    const { deletedCount } = await this.database.call(() =>
      this.todos.deleteOne(matching(id, ifMatch), { ...OPERATION_LIMITS }).exec(),
    );
    if (deletedCount === 0) await this.rejectUnmatched(id);
  }

  /** A todo that exists but has none of the tags is stale. */
  private async rejectUnmatched(id: string): Promise<never> {
    await this.get(id);
    throw new PreconditionFailedError();
  }
}

/** Makes the check of the revision and the write one operation. */
function matching(id: string, tags: EntityTags): object {
  const revisions = revisionsOf(tags);
  return { _id: id, ...(revisions && { __v: { $in: revisions } }) };
}
