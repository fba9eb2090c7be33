import type { Type } from '@nestjs/common';
import type { Schema, Types } from 'mongoose';
import type { EntityListener } from '../events/index.js';
import type { IsolationSource } from '../tenancy/index.js';

/** The generated actions, by the seed's names; `get` covers both the list and the single record. */
export type CrudAction = 'get' | 'count' | 'create' | 'update' | 'del';

/** A record as the store holds it: the entity with its identifier, revision and timestamps. */
export type Stored<Entity> = Entity & {
  _id: Types.ObjectId;
  /** The record's revision: grows by one with every write. */
  __v?: number;
  createdAt?: Date;
  updatedAt?: Date;
};

/** A record as clients, hooks and events see it: identifiers are strings, and internal fields are gone. */
export type Presented<Entity> = {
  [Field in keyof Entity]: Entity[Field] extends Types.ObjectId | undefined ? string : Entity[Field];
} & { _id: string; createdAt: Date; updatedAt: Date };

/** The name of a field of the entity. */
export type FieldOf<Entity> = Extract<keyof Entity, string>;

/** Functions of the resource's own that run around its writes (contract section 7). */
export interface CrudHooks<Entity> {
  /**
   * Runs after a record has been stored, before the event of the same name is emitted. It cannot fail the request, and
   * the request does not wait for it longer than `HOOK_WARN_MS`: hand heavy work to a queue.
   */
  afterCreate?: EntityListener<Presented<Entity>>;
}

/** What `CrudModule.forFeature` makes a resource from. */
export interface CrudOptions<Entity extends object, Input extends object> {
  /** The record: a class decorated with `@Schema()`. Its `@Prop()` fields are what a client may see. */
  entity: Type<Entity>;

  /**
   * The body of a create: a class whose every field carries class-validator decorators. An update takes the same fields,
   * all optional.
   */
  input: Type<Input>;

  /** Name of the resource in events and of its collection, such as `posts`. */
  name: string;

  /** Path of the routes, without a leading slash. @default the name */
  path?: string;

  /** Group in the explorer. @default the name */
  tag?: string;

  /** A schema made by hand. @default the schema that the entity's decorators describe */
  schema?: Schema;

  /** Actions that get no route. @default none */
  disable?: readonly CrudAction[];

  /**
   * Per action, the fields that scope it and where their values come from. A create writes them into the record, every
   * other action adds them to its filter. An action with at least one field requires a tenant's token.
   *
   * @default none: the action is public and sees every record
   * @example { create: { tenant: currentTenant }, update: { tenant: currentTenant } }
   */
  isolationFields?: Partial<Record<CrudAction, Partial<Record<FieldOf<Entity>, IsolationSource>>>>;

  /**
   * Values that a record must have to be there for get, count, update and del; `null` means that the field is absent.
   *
   * @default none: every record is there
   * @example { deletedAt: null }
   */
  visible?: Partial<Record<FieldOf<Entity>, string | number | boolean | null>>;

  /** @default none */
  hooks?: CrudHooks<Entity>;
}
