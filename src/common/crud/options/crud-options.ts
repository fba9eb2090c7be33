import type { CanActivate, Type } from '@nestjs/common';
import type { Schema } from 'mongoose';
import type { ErrorCode } from '../../errors/index.js';
import type { IsolationSource, TenantContext } from '../../tenancy/index.js';
import type { CrudHooks } from './crud-hooks.js';
import type { FieldOf, Presented } from './records.js';

/** The generated actions; `get` covers both the list and the single record. */
export type CrudAction = 'get' | 'count' | 'create' | 'update' | 'del';

/** The generated handlers: `list` and `get` both belong to the action `get`, and `restore`, of an archive, to `update`. */
export type CrudHandler = 'create' | 'list' | 'count' | 'get' | 'update' | 'del' | 'restore';

/** The classes of a resource's bodies: one for both, or one each. */
export type CrudInput<Create extends object, Update extends object> =
  Type<Create> | { create: Type<Create>; update: Type<Update> };

/** Another shape of a record for clients, hooks and events. */
export type CrudOutput<Entity> =
  | Type<object>
  | ((record: Presented<Entity>, caller: TenantContext) => object)
  | { type: Type<object>; from: (record: Presented<Entity>, caller: TenantContext) => object };

/** A resource below another one, such as the comments of a post. */
export interface CrudParent<Entity> {
  /** Entity of the parent, which must be a resource of the same application. */
  entity: Type<object>;
  /** Parameter of `path` that carries the parent's identifier, such as `postId`. */
  param: string;
  /** Field of the child that refers to the parent. */
  field: FieldOf<Entity>;
}

/** The handlers that carry out many writes, each as its own route would; see the options `bulk` and `import`. */
export type CrudBatchHandler = 'bulk' | 'import';

/** How one reference is guarded. */
export interface CrudReference {
  /** Entity that the field refers to, which must be a resource of the same application. */
  to: Type<object>;
  /**
   * What a new value must satisfy: `exists`, a record that the caller may read; `sameScope`, besides, one that the same
   * isolation fields scope, such as a record of the same tenant; `false`, nothing.
   *
   * @default 'exists'
   */
  check?: 'exists' | 'sameScope' | false;
  /**
   * Effect of deleting the record referred to: `restrict` refuses the delete with 409; `cascade` deletes the records that
   * refer to it, with their hooks; `unset` removes the reference from them, or its
   * entry from a list; `ignore` leaves it.
   *
   * @default 'ignore'
   */
  onDelete?: 'restrict' | 'cascade' | 'unset' | 'ignore';
}

/** How records are archived in place of being deleted. */
export interface CrudArchive<Entity> {
  /** An optional date of the entity, such as `deletedAt`: when the record was archived, absent while it is live. */
  field: FieldOf<Entity>;
}

/** How writes are recorded. */
export interface CrudAudit {
  /** How long an audit record is kept; then the database removes it. Unit: days. @default 365 */
  keptDays?: number;
}

/** Whole lists and pages. */
export interface CrudListOptions {
  /** Whether a list without page parameters is every record, streamed; otherwise it is the first page. @default true */
  unpaged?: boolean;
  /** Maximum number of records per page; a larger limit is refused. Unit: records. @default 100 */
  maxLimit?: number;
}

/** Path of a field: its name, or a name inside of a nested field, such as `dimensions.width`. */
export type PathOf<Entity> =
  FieldOf<Entity> | '_id' | 'createdAt' | 'updatedAt' | `${FieldOf<Entity>}.${string}`;

/** A key of an order: a path, with a minus in front if it is descending. */
export type SortKeyOf<Entity> = PathOf<Entity> | `-${PathOf<Entity>}`;

/** Filters, orders and searches that clients can use in a list; every path must be one that clients see. */
export interface CrudQueryOptions<Entity> {
  /**
   * Fields to filter by, such as `title=Tea` or `price[gte]=2`; the operators follow from the field's type.
   *
   * @default none
   */
  filter?: readonly PathOf<Entity>[];
  /**
   * Orders to sort by, each also in its exact reverse. A list of keys is one order: `['completed', 'dueAt']`. Each is served
   * by an index that begins with the fields that scope the resource. A cursor of a page carries the values of its keys: texts
   * of more than about 1,000 characters make it too long for a URL.
   *
   * @default ['-createdAt'], which is always there
   */
  sort?: readonly (SortKeyOf<Entity> | readonly SortKeyOf<Entity>[])[];
  /**
   * Texts, and lists of texts, that the parameter `q` searches for words and phrases, without regard to case and accents.
   * The words are kept with the record, in an index; those of older records are gathered in the background.
   *
   * @default none: there is no `q`
   * @example ['title', 'tags', 'variants.label']
   */
  search?: readonly PathOf<Entity>[];
}

/** Changes to one generated route. Guards and decorators run after isolation, also if the handler is overridden. */
export interface CrudRouteOptions {
  /** Guards of the route, after the TenantGuard. @default none */
  guards?: (Type<CanActivate> | CanActivate)[];
  /** Method decorators of the route, such as `Roles('admin')`. @default none */
  decorators?: MethodDecorator[];
  /** Line in the explorer. @default a sentence made of the action and the entity's name */
  summary?: string;
  /** Class of the answer, for an overridden handler that answers with something else than the generated one. */
  response?: Type<object>;
  /**
   * Errors of the route's guards, hooks and overrides, for the documentation; a number is the status of an exception of the
   * feature's own, such as 403.
   *
   * @default none
   */
  errors?: readonly (ErrorCode | number)[];
  /**
   * Members of the answer that are shown once, such as a secret: the replay of a request with an `Idempotency-Key` does not
   * have them, and they are not stored with the answer. In a create, a field of the entity with `select: false` is shown this
   * once if the service's `create` gives back a record that has it.
   *
   * @default none
   */
  unkept?: readonly string[];
}

/** The description that `CrudModule.forFeature` makes a resource from. */
export interface CrudOptions<
  Entity extends object,
  Create extends object = Entity,
  Update extends object = Create,
> {
  /** The record: a class decorated with `@Schema({ timestamps: true })`. Clients see its fields without `select: false`. */
  entity: Type<Entity>;

  /**
   * The bodies: a class whose every field carries a field decorator such as `@IsText()` or class-validator decorators. In
   * an update every field is optional. Give `{ create, update }` if they take different fields.
   */
  input: CrudInput<Create, Update>;

  /** Name of the resource in events and of its collection, such as `posts`. */
  name: string;

  /** Path of the routes, without a leading slash; with a `parent` it has the parent's parameter. @default the name */
  path?: string;

  /** Group in the explorer. @default the name */
  tag?: string;

  /** A Mongoose schema made by hand; it is copied. @default the schema that the entity's decorators describe */
  schema?: Schema;

  /**
   * Input fields that are not stored: hooks consume them, such as the `password` that a hook turns into a hash.
   *
   * @default none
   */
  writeOnly?: readonly (FieldOf<NoInfer<Create>> | FieldOf<NoInfer<Update>>)[];

  /**
   * The record as clients, hooks and events see it: a class whose declared fields are copied (getters are computed), a
   * function of the record and the caller, or both.
   *
   * @default the entity's visible fields
   */
  output?: CrudOutput<Entity>;

  /** The resource that this one is below of; a request whose parent does not exist is a 404. @default none */
  parent?: CrudParent<Entity>;

  /** Actions that get no route. @default none */
  disable?: readonly CrudAction[];

  /**
   * Per action, the fields that scope it and where their values come from; `all` adds to every action. A create writes
   * them into the record, every other action adds them to its filter.
   *
   * @default none: the action is public and sees every record
   * @example { all: { tenant: currentTenant }, update: { owner: claim('sub') } }
   */
  isolationFields?: Partial<Record<CrudAction | 'all', Partial<Record<FieldOf<Entity>, IsolationSource>>>>;

  /**
   * Values that a record must have to be there for get, count, update and del; `null` means that the field is absent.
   *
   * @default none: every record is there
   * @example { published: true }
   */
  visible?: Partial<Record<FieldOf<Entity>, string | number | boolean | null>>;

  /**
   * Archives in place of deleting: DELETE sets the field to the present time, and `POST …/:id/restore`, of whoever may update,
   * takes it away again. Both run the hooks of an update. An archived record is absent from every read and update, and its
   * unique values are free for others. `archived=only` and `archived=include` read archived records, scoped by the isolation
   * fields of `update` and `del` besides those of the read, so that they always take a token.
   *
   * An archive is no delete for the records that refer to the archived one: `onDelete` does nothing, and a new reference to
   * it is refused. Archived records still refer to others: what they refer to cannot be deleted where `restrict` says so.
   *
   * @default none: DELETE removes the record for good
   * @example { field: 'deletedAt' }
   */
  archive?: CrudArchive<Entity>;

  /** @default whole lists, and pages of at most 100 records */
  list?: CrudListOptions;

  /** Filters, orders and searches that clients can ask for. @default newest first, without filters */
  query?: CrudQueryOptions<Entity>;

  /** References that are checked, by the field that holds the identifier, such as `category` or `lines.product`. @default none */
  references?: Readonly<Record<string, CrudReference>>;

  /**
   * Whether `POST <path>/bulk` carries out up to 1,000 creates, updates and deletes, in order, each as its own route would.
   *
   * @default false
   */
  bulk?: boolean;

  /**
   * Whether `POST <path>/import` creates a record of each line of a stream of any length (`application/x-ndjson`), each as the
   * route of a create would.
   *
   * @default false
   */
  import?: boolean;

  /**
   * Whether every create, update, archive and restore stores its event in the record itself, by the same command: no crash
   * comes between the two. The event has an `id`, and stays until code settles it by the resource's `Outbox` (see `Outboxes`);
   * what nobody settles stays for good. Clients never see it. A record must not be removed then: the resource needs an
   * `archive`, or `disable: ['del']`.
   *
   * @default false: an event is lost if the process is killed before its listeners are done
   */
  outbox?: boolean;

  /**
   * Whether every write is recorded: who, which action, which record and fields, from where, when, by which request, and its
   * outcome. The audit record is stored before the write, which is refused if that fails; values are never in it. All resources
   * share the collection `audits`, which clients cannot read unless a resource of `AuditEntry` shows it.
   *
   * @default false
   * @example { keptDays: 90 }
   */
  audit?: boolean | CrudAudit;

  /** Functions around the writes, or a provider class with methods of these names. @default none */
  hooks?: CrudHooks<Entity, Create, Update> | Type<CrudHooks<Entity, Create, Update>>;

  /** Changes to single routes. @default none */
  routes?: Partial<Record<CrudHandler | CrudBatchHandler, CrudRouteOptions>>;
}

/** Options of any resource. */
// The classes stand in both directions of variance: no other argument takes the options of every resource.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type AnyCrudOptions = CrudOptions<any, any, any>;

/**
 * Types the options of a resource without type parameters, for a feature that has a controller or service of its own:
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
