import type { CanActivate, Type } from '@nestjs/common';
import type { Schema } from 'mongoose';
import type { ErrorCode } from '../../errors/index.js';
import type { CallerPredicate, IsolationSource, TenantContext } from '../../tenancy/index.js';
import type { CrudHooks } from './crud-hooks.js';
import type { FieldOf, Presented } from './records.js';

/** The generated actions; `get` covers both the list and the single record. */
export type CrudAction = 'get' | 'count' | 'create' | 'update' | 'del';

/** In the order of the documentation. */
export const ACTIONS: readonly CrudAction[] = ['get', 'count', 'create', 'update', 'del'];

/** The generated handlers. `list` and `get` belong to the action `get`; `restore` of an archive to `update`. */
export type CrudHandler = 'create' | 'list' | 'count' | 'get' | 'update' | 'del' | 'restore';

/** In the order of the explorer. */
export const HANDLERS = ['create', 'list', 'count', 'get', 'update', 'del', 'restore'] as const;

/** The handlers that carry out many writes, each as its own route would. See the options `bulk` and `import`. */
export type CrudBatchHandler = 'bulk' | 'import';

export const BATCH_HANDLERS: readonly CrudBatchHandler[] = ['bulk', 'import'];

export type HookName = keyof CrudHooks<object, object>;

/** The classes of the request bodies: one for create and update, or one for each. */
export type CrudInput<Create extends object, Update extends object> =
  Type<Create> | { create: Type<Create>; update: Type<Update> };

/** A function that makes the record that a caller sees, and what is known about it. */
export interface CrudOutputFunction<Entity> {
  /** Class that documents the result, and whose declared fields are shown. @default every field is shown */
  type?: Type<object>;
  from: (record: Presented<Entity>, caller: TenantContext) => object;
  /**
   * Every field that the function leaves out or changes for some caller, such as `contract.salary`. Clients can query
   * the others.
   *
   * @default any: clients can query only `_id`, `createdAt` and `updatedAt`
   */
  hides?: readonly PathOf<Entity>[];
}

/** Another shape of the record for clients, hooks and events. */
export type CrudOutput<Entity> =
  Type<object> | ((record: Presented<Entity>, caller: TenantContext) => object) | CrudOutputFunction<Entity>;

/** A resource below another one, such as the comments of a post. */
export interface CrudParent<Entity> {
  /** Entity of the parent. It must be a resource of the same application. */
  entity: Type<object>;
  /** Path parameter with the parent's identifier, such as `postId`. */
  param: string;
  /** Field of the child that refers to the parent. */
  field: FieldOf<Entity>;
}

/** How a reference is checked and kept intact. */
export interface CrudReference {
  /** Entity that the field refers to. It must be a resource of the same application. */
  to: Type<object>;
  /**
   * Requirement for a new value. `exists`: the caller may read the record. `sameScope`: it also has the same values in
   * the isolation fields, such as the same tenant. `false`: none.
   *
   * @default 'exists'
   */
  check?: 'exists' | 'sameScope' | false;
  /**
   * Effect of deleting the record referred to. `restrict` rejects the delete with 409, `cascade` deletes the records that
   * refer to it, with their hooks, `unset` removes the reference or its entry of a list, `ignore` leaves it.
   *
   * @default 'ignore'
   */
  onDelete?: 'restrict' | 'cascade' | 'unset' | 'ignore';
}

/** Settings of lists and pages. */
export interface CrudListOptions {
  /** Whether a list without page parameters streams every record; if false, it returns the first page. @default true */
  unpaged?: boolean;
  /** Maximum number of records per page; a larger limit is rejected. Unit: records. @default 100 */
  maxLimit?: number;
}

/** Path of a field: its name, or a name inside a nested field, such as `dimensions.width`. */
export type PathOf<Entity> =
  FieldOf<Entity> | '_id' | 'createdAt' | 'updatedAt' | `${FieldOf<Entity>}.${string}`;

/** A key of an order; a leading minus is descending. */
export type SortKeyOf<Entity> = PathOf<Entity> | `-${PathOf<Entity>}`;

/** Filters, orders and searches that clients can use in a list. Clients must be able to see every path in it. */
export interface CrudQueryOptions<Entity> {
  /**
   * Fields to filter by, with the operators of their types. A path behind a reference, such as `category.name`, is a
   * field of the referred records that the caller may read.
   *
   * @default none
   */
  filter?: readonly PathOf<Entity>[];
  /**
   * Orders to sort by, each also in reverse. A list of keys is one order: `['completed', 'dueAt']`. Each order gets an
   * index. Cursors carry the values of the keys: strings of more than about 1,000 characters are too long for a URL.
   *
   * @default ['-createdAt'], which is always available
   */
  sort?: readonly (SortKeyOf<Entity> | readonly SortKeyOf<Entity>[])[];
  /**
   * Strings, and lists of strings, that the parameter `q` searches for words and phrases. Older records are indexed in
   * the background.
   *
   * @default none: there is no `q`
   * @example ['title', 'tags', 'variants.label']
   */
  search?: readonly PathOf<Entity>[];
}

/** Changes to one generated route, overridden or not. Its guards and decorators run after isolation. */
export interface CrudRouteOptions {
  /**
   * Guards of everything that reaches the action: those of `get` also guard references, expansions and responses that
   * would show the record.
   *
   * @default none; for `restore`, those of `update` and `del`
   */
  guards?: (Type<CanActivate> | CanActivate)[];
  /** Method decorators of the route, such as `Roles('admin')`. @default none */
  decorators?: MethodDecorator[];
  /** Summary in the explorer. @default made of the action and the entity's name */
  summary?: string;
  /** Class of the response. @default that of the generated handler */
  response?: Type<object>;
  /** Errors of guards, hooks and overrides, for the document: codes, or statuses of your own exceptions. @default none */
  errors?: readonly (ErrorCode | number)[];
  /**
   * Members of the response that are shown only once, such as a secret: a replay by `Idempotency-Key` does not have
   * them. A create shows a field with `select: false` if the service's `create` returns a record that has it.
   *
   * @default none
   */
  unstored?: readonly string[];
}

/** Who may read and write a field. */
export interface CrudFieldRule {
  /** @default everybody who may read the record */
  read?: CallerPredicate;
  /** @default everybody who may write the record, and read the field */
  write?: CallerPredicate;
}

/** The description that `CrudModule.forFeature` makes a resource from. */
export interface CrudOptions<
  Entity extends object,
  Create extends object = Entity,
  Update extends object = Create,
> {
  /** The record: a class with `@Schema({ timestamps: true })`. Fields with `select: false` are hidden from clients. */
  entity: Type<Entity>;

  /**
   * The request bodies: a class with a field decorator, such as `@IsText()`, or class-validator's on every field, all of
   * which are optional in an update. Use `{ create, update }` if they take different fields.
   */
  input: CrudInput<Create, Update>;

  /** Name of the resource in events and of its collection, such as `posts`. */
  name: string;

  /** Path of the routes, without a leading slash, with the parameter of a `parent`. @default the name */
  path?: string;

  /** Group in the explorer. @default the name */
  tag?: string;
  /** Security scheme of the document by which callers are known. @default "bearer" where a token is needed */
  security?: string;

  /** A Mongoose schema, of which a copy is used. @default the schema that the entity's decorators describe */
  schema?: Schema;

  /**
   * Records of several kinds in one collection, as Mongoose's discriminators store them, with the field `kind` as the
   * key: the input class of each kind, which extends `input`. A record has the fields of its kind and no others, and
   * keeps its kind. Clients can filter by `kind`.
   *
   * @default none
   * @example { seasonal: SeasonalInput, weekday: WeekdayInput }
   */
  kinds?: Readonly<Record<string, Type<Create>>>;

  /** Input fields that only hooks use, such as a `password` that one turns into a hash. @default none */
  writeOnly?: readonly (FieldOf<NoInfer<Create>> | FieldOf<NoInfer<Update>>)[];

  /**
   * The record as clients, hooks and events see it: a class whose declared fields are copied (getters are computed), a
   * function of the record and the caller, or both.
   *
   * @default the entity's visible fields
   */
  output?: CrudOutput<Entity>;

  /** The resource that this one is nested under; a request without its parent is a 404. @default none */
  parent?: CrudParent<Entity>;

  /** Actions without a route. @default none */
  disable?: readonly CrudAction[];

  /**
   * For each action, the fields that scope it and where their values come from; `all` adds to every action, and `count` is
   * as `get` unless it is given. A create writes the values into the record; every other action adds them to its filter.
   *
   * @default none: the action is public and sees every record
   * @example { all: { tenant: currentTenant }, update: { owner: claim('sub') } }
   */
  isolationFields?: Partial<Record<CrudAction | 'all', Partial<Record<FieldOf<Entity>, IsolationSource>>>>;

  /**
   * Fields whose values are unique among all records. Other unique indexes begin with the fields that isolate reads (or,
   * if everybody reads, creates), unless they have them: a 409 would tell of another tenant's record.
   *
   * @default none
   * @example ['hostname']
   */
  globallyUnique?: readonly PathOf<Entity>[];

  /**
   * Values that a record must have to be found; `null` means that the field is absent.
   *
   * @default none: every record is found
   * @example { published: true }
   */
  visible?: Partial<Record<FieldOf<Entity>, string | number | boolean | null>>;

  /**
   * Archives records instead of deleting them. DELETE sets the field, an optional date of the entity, to the current time;
   * `POST …/:id/restore`, for anyone who may update, removes it. Both run the update hooks. Reads and updates do not find archived records, and
   * their unique values are free. `archived=only` and `archived=include` read them, within the isolation of `update` and
   * `del` as well as that of the read, so that they need a token.
   *
   * Archiving is not deleting: `onDelete` has no effect, but new references to an archived record are rejected, and its
   * own references count.
   *
   * @default none: DELETE removes the record for good
   * @example { field: 'deletedAt' }
   */
  archive?: { field: FieldOf<Entity> };

  /**
   * Fields that only some callers read or write. For all others a field is not there, and a body with it is a 403. Who may
   * not read a field may not write it. Code sets any field.
   *
   * @default none
   * @example { salary: { read: hasRole('hr'), write: hasRole('hr') } }
   */
  fields?: Partial<Record<FieldOf<Entity>, CrudFieldRule>>;

  /** Settings of lists and pages. @default whole lists, and pages of at most 100 records */
  list?: CrudListOptions;

  /** Filters, orders and searches that clients can use. @default newest first, without filters */
  query?: CrudQueryOptions<Entity>;

  /** References to check, by the field that holds the identifier, such as `category` or `lines.product`. @default none */
  references?: Readonly<Record<string, CrudReference>>;

  /** Whether `POST <path>/bulk` carries out up to 1,000 writes in order, each as its own route would. @default false */
  bulk?: boolean;

  /** Whether `POST <path>/import` creates a record per line of a stream (`application/x-ndjson`). @default false */
  import?: boolean;

  /**
   * Whether subscribers of the record's tenant are told of every write, whatever crashes, by webhooks and the live stream
   * of `NotificationsModule`: `<name>.created`, `.updated`, `.deleted`, or `.archived` and `.restored` with an `archive`.
   * Creates must be isolated by `currentTenant`. Unless everyone of the tenant may read every record, only
   * `{ data: 'id' }` is possible: `_id` alone, by which subscribers read the record if they may.
   *
   * @default false: after-hooks and listeners only, which a crash can prevent
   * @example { data: 'id' }
   */
  events?: boolean | { data: 'id' };

  /**
   * Whether every write is recorded in the collection `audits`, without values, before it is carried out, and rejected if
   * that fails. Clients can read them only through a resource of `AuditEntry`. The database removes a record after
   * `keptDays`, by default 365 days.
   *
   * @default false
   * @example { keptDays: 90 }
   */
  audit?: boolean | { keptDays?: number };

  /** Functions that run before and after writes, or a provider class with methods of these names. @default none */
  hooks?: CrudHooks<Entity, Create, Update> | Type<CrudHooks<Entity, Create, Update>>;

  /** Changes to individual routes. @default none */
  routes?: Partial<Record<CrudHandler | CrudBatchHandler, CrudRouteOptions>>;
}

/** Options of any resource. */
// The classes are both co- and contravariant: only `any` accepts the options of every resource.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type AnyCrudOptions = CrudOptions<any, any, any>;

/**
 * Types the options of a resource without type parameters, for a feature with its own controller or service:
 *
 * ```ts
 * export const categories = crudOptions({ entity: Category, input: CategoryInput, name: 'categories' });
 * ```
 */
export function crudOptions<Entity extends object, Create extends object, Update extends object = Create>(
  options: CrudOptions<Entity, Create, Update>,
): CrudOptions<Entity, Create, Update> {
  return options;
}
