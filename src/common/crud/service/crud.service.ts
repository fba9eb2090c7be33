import { Inject, type Type } from '@nestjs/common';
import type { Types } from 'mongoose';
import { PreconditionFailedError, RecordNotFoundError } from '../../errors/index.js';
import type { TenantScope } from '../../tenancy/index.js';
import { getCrudResourceToken } from '../options/crud.tokens.js';
import type { ArchiveDefinition } from '../definition/archive.js';
import { type InputReader, isChecked } from '../../fields/index.js';
import { requiredTags, withTags } from '../definition/entity-tags.js';
import { rejectForbidden } from '../definition/field-rules.js';
import { requireEntity } from '../options/check-options.js';
import type { CrudAction, CrudOptions } from '../options/crud-options.js';
import type { CreateValues, Presented, Stored, UpdateValues } from '../options/records.js';
import type { ListQuery, PageQuery, ReadQuery, Where } from '../query/list-query.js';
import type { Page } from '../query/pages.js';
import type { CrudStore } from '../store/crud.store.js';
import type { AggregationStage, Fields, StoreChange, StoreFilter } from '../schema/store-types.js';
import { objectId } from './access.js';
import type { CrudResource } from './crud-resource.js';
import { readOf, readPage, rejectForeign, rejectSlow } from './reads.js';
import { resolveReferred } from './readable-records.js';
import { assertWithin, currentUnit } from './unit-of-work.js';

const OPTIONS = 'crud:service-options';

/** The identifier of a record, also as text. */
type RecordId = string | Types.ObjectId;

/** Options of the verbs that take values. */
export interface WriteOptions {
  /**
   * Whether to check the values against the input class, unless a route has done so. Code may also set fields that
   * clients may not send, which the schema checks; not in a request whose body no `@CrudAction` describes, since
   * nobody knows there which values came from the client.
   *
   * @default true
   */
  validate?: boolean;
}

/** Options of the verbs that read many records. */
export interface ReadOptions {
  /** Conditions besides those of the query, all of which must be true; see `conditionOf`. @default none */
  and?: readonly Where[];
}

/** Options of the verbs that change or remove a record. */
export interface ConditionalOptions {
  /** ETags in quotes, one of which the record must have, or `*`. @default the `If-Match` of the request */
  ifMatch?: string | readonly string[];
}

/** Of the generated route: whether nobody looks at more of the result than its identifier and revision. */
interface Unread {
  isUnread?: boolean;
}

/** Options of a change made by code. */
export interface ChangeOptions extends ConditionalOptions, Pick<ReadQuery, 'archived'> {
  /** Condition on the record in values of the store, checked by the command that makes the change. @default none */
  where?: StoreFilter;
}

/** Options of the verb that archives. */
export interface ArchiveOptions extends ConditionalOptions {
  /** Whether to archive again a record that is already archived. @default it is not found */
  archived?: 'include';
}

/**
 * The verbs of a resource. The first argument of each is the caller's scope: the caller can neither see nor
 * change records outside it, and a scope that lacks a value is rejected. Extend `CrudService.for(options)` to
 * replace individual verbs or add your own.
 *
 * Reads throw QueryTooSlowError if the database cannot answer in time. Verbs with an identifier throw
 * RecordNotFoundError if no record of the scope has it, and PreconditionFailedError if the record has none of the
 * required ETags.
 */
export class CrudService<Entity extends object, Create extends object, Update extends object = Create> {
  /** Injected after the constructor has run. */
  private readonly outside!: CrudResource<Entity, Create, Update>;

  /**
   * Returns the class that your own service extends:
   *
   * ```ts
   * @Injectable()
   * export class CategoriesService extends CrudService.for(categories) {
   *   override create(scope: TenantScope, input: CategoryInput) {
   *     return super.create(scope, { ...input, slug: slugOf(input.name) });
   *   }
   * }
   * ```
   */
  static for<Entity extends object, Create extends object, Update extends object>(
    options: CrudOptions<Entity, Create, Update>,
  ): Type<CrudService<Entity, Create, Update>> {
    requireEntity(options);
    class ResourceService extends CrudService<Entity, Create, Update> {}
    Object.defineProperty(ResourceService, 'name', { value: `${options.entity.name}CrudService` });
    // A property, so that subclasses can have their own constructors.
    Inject(getCrudResourceToken(options.entity))(ResourceService.prototype, 'outside');
    Reflect.defineMetadata(OPTIONS, options, ResourceService);
    return ResourceService;
  }

  /** Every record that the query selects, read from the database as it is consumed. @default all, newest first */
  async *list(
    scope: TenantScope,
    query: ListQuery = {},
    options: ReadOptions = {},
  ): AsyncGenerator<Stored<Entity>, void, undefined> {
    const { filter } = await this.#select('get', scope, query, options);
    try {
      yield* this.store.find(filter, readOf(this.resource.definition, query));
    } catch (error) {
      rejectSlow(error);
    }
  }

  /**
   * One page of the list, the total number of records, and the cursors of the previous and next page.
   *
   * @throws ValidationError if `after` or `before` is not a cursor of this list
   */
  async page(scope: TenantScope, query: PageQuery, options: ReadOptions = {}): Promise<Page<Stored<Entity>>> {
    return readPage(this.resource, await this.#select('get', scope, query, options), query);
  }

  /** The number of records that the query selects, regardless of the page. */
  async count(scope: TenantScope, query: ListQuery = {}, options: ReadOptions = {}): Promise<number> {
    const { filter } = await this.#select('count', scope, query, options);
    return this.store.count(filter).catch(rejectSlow);
  }

  async get(scope: TenantScope, id: RecordId, query: ReadQuery = {}): Promise<Stored<Entity>> {
    await this.requireParent('get', scope);
    const filter = this.filterOf('get', scope, objectId(id), query);
    const { fields } = readOf(this.resource.definition, query);
    const record = await this.store.findOne(filter, fields);
    return record ?? this.throwNotFound();
  }

  /**
   * Stores a record in the scope, runs its hooks, and emits its event.
   *
   * @throws ValidationError if the input class or the schema rejects the input
   */
  async create(
    scope: TenantScope,
    input: CreateValues<Entity, Create>,
    { validate }: WriteOptions = {},
  ): Promise<Stored<Entity>> {
    const { access, definition, writes } = this.resource;
    // Before the body is looked at: a caller without a scope learns nothing about it.
    const isolationValues = access.isolationValues('create', scope);
    const isTrusted = validate === false;
    const checked = isTrusted ? input : await this.#checked(scope, input, definition.createReader, 'read');
    await this.requireParent('create', scope);
    return writes.create(scope, checked, access.chosen(isolationValues, checked as Readonly<Fields>));
  }

  /**
   * Changes the given fields. Null removes an optional field or resets it to its default; objects are merged
   * (RFC 7396).
   *
   * @throws ValidationError if the input class or the schema rejects the result
   */
  async update(
    scope: TenantScope,
    id: RecordId,
    changes: UpdateValues<Entity, Update>,
    { validate, isUnread, ...options }: WriteOptions & ConditionalOptions & Unread = {},
  ): Promise<Stored<Entity>> {
    const { resource } = this;
    const record = await this.#write('update', scope, id, options, async (filter) => {
      const reader = validate === false ? undefined : await resource.readerOf(filter);
      const checked = reader ? await this.#checked(scope, changes, reader, 'readPatch') : changes;
      return resource.writes.patch(scope, filter, checked, isUnread);
    });
    return record ?? this.throwNotFound();
  }

  /**
   * Removes the record for good and returns it; archives it if the resource has an archive.
   *
   * @throws StillReferencedError if a reference restricts the deletion
   */
  async del(scope: TenantScope, id: RecordId, options: ConditionalOptions = {}): Promise<Stored<Entity>> {
    if (this.resource.definition.archive)
      return (await this.archive(scope, id, options)) ?? this.throwNotFound();
    const remove = (filter: StoreFilter) => this.resource.writes.remove(scope, filter);
    return (await this.#write('del', scope, id, options, remove)) ?? this.throwNotFound();
  }

  /**
   * Archives the record now, runs the update hooks, and returns it; undefined if none matched.
   *
   * @throws PreconditionFailedError if ETags are required and nothing matched
   */
  async archive(
    scope: TenantScope,
    id: RecordId,
    options: ArchiveOptions = {},
  ): Promise<Stored<Entity> | undefined> {
    const { field } = this.requireArchive();
    return this.change('del', scope, id, { set: { [field]: new Date() } }, options);
  }

  /**
   * Restores an archived record, runs the update hooks, and returns it.
   *
   * @throws DuplicateValueError if a live record has taken one of its unique values
   */
  async restore(scope: TenantScope, id: RecordId, options: ConditionalOptions = {}): Promise<Stored<Entity>> {
    const { field } = this.requireArchive();
    const change = { set: {}, unset: [field] };
    const restore = (filter: StoreFilter) =>
      this.resource.writes.update(scope, filter, () => change, { action: 'restore' });
    const reach = { ...options, archived: 'only' } as const;
    return (await this.#write('update', scope, id, reach, restore)) ?? this.throwNotFound();
  }

  /**
   * Removes an archived record for good, runs the delete hooks, and returns it. Subscribers, who were told when it
   * was archived, are not told again.
   */
  async purge(scope: TenantScope, id: RecordId, options: ConditionalOptions = {}): Promise<Stored<Entity>> {
    this.requireArchive();
    const remove = (filter: StoreFilter) => this.resource.writes.remove(scope, filter);
    const reach = { ...options, archived: 'only' } as const;
    return (await this.#write('del', scope, id, reach, remove)) ?? this.throwNotFound();
  }

  /** Carries out a unit of work: writes that happen all at once, or not at all; see `atomically` of Crud. */
  async atomically<T>(scope: TenantScope, work: (scope: TenantScope) => Promise<T>): Promise<T> {
    return this.outside.parts.crud.atomically(scope, work);
  }

  /** The resource; inside a unit of work with a store that is part of it. */
  protected get resource(): CrudResource<Entity, Create, Update> {
    const unit = currentUnit.getStore();
    return unit ? (unit.of(this.outside as never) as never) : this.outside;
  }

  /** The store, for your own queries. Filter them with {@link CrudService.filterOf}. */
  protected get store(): CrudStore<Entity> {
    return this.resource.store;
  }

  /**
   * What an aggregation makes of the records that the caller can read and the query selects, within the time limit of
   * one operation. Its stages see hidden fields, too.
   *
   * @param stages of MongoDB, without those that read or write other collections
   */
  protected async aggregate<Result extends object>(
    scope: TenantScope,
    stages: readonly AggregationStage[],
    query: ListQuery = {},
    options: ReadOptions = {},
  ): Promise<Result[]> {
    rejectForeign(stages);
    const { filter } = await this.#select('get', scope, query, options);
    return this.store.aggregate<Result>(filter, stages).catch(rejectSlow);
  }

  /** A record as the caller sees it, for the response of another route or a message. */
  protected present(scope: TenantScope, record: Stored<Entity>): Presented<Entity> {
    return this.resource.definition.present(record, scope.caller) as Presented<Entity>;
  }

  /**
   * Changes a record other than by an update, for example to archive it, and runs the update hooks; undefined
   * if none matched. Values must have the type of their field; bounds and enums are not checked.
   *
   * @throws PreconditionFailedError if ETags are required and nothing matched
   */
  protected async change(
    action: 'update' | 'del',
    scope: TenantScope,
    id: RecordId,
    { set = {}, unset = [] }: StoreChange,
    options: ChangeOptions = {},
  ): Promise<Stored<Entity> | undefined> {
    const record = await this.#write(action, scope, id, options, (filter) =>
      this.resource.writes.update(scope, filter, () => ({ set, unset }), { action }),
    );
    if (!record && requiredTags(scope, this.resource.definition.entity, id, options.ifMatch))
      throw new PreconditionFailedError();
    return record;
  }

  /**
   * Checks that the caller can read the parent, if the resource has one, or throws RecordNotFoundError. A request is
   * checked before its handler runs; a scope made in code needs this before {@link CrudService.filterOf}.
   */
  protected async requireParent(action: CrudAction, scope: TenantScope): Promise<void> {
    assertWithin(scope);
    await this.resource.parents?.require(action, scope);
  }

  /**
   * The filter of the records that a caller can reach with an action; of archived ones if you ask for them.
   *
   * @throws Error if nobody has checked that the caller can read the parent
   */
  protected filterOf(
    action: CrudAction,
    scope: TenantScope,
    id?: RecordId,
    { archived }: Pick<ReadQuery, 'archived'> = {},
  ): StoreFilter {
    const filter = this.resource.access.filter(action, scope, id, { archived });
    this.resource.parents?.assertKnown(action, scope);
    return filter;
  }

  /** The filter of the records that a query selects, and what it asks for, before fields of other records are looked up. */
  async #select(action: 'get' | 'count', scope: TenantScope, query: ListQuery, { and = [] }: ReadOptions) {
    const { access, definition, parents, parts } = this.resource;
    assertWithin(scope);
    const conditions = [...(query.conditions ?? []), ...and];
    const asked = access.listing(action, scope, { ...query, conditions });
    await parents?.require(action, scope);
    if (query.search) await parts.search?.require();
    if (!definition.query.isReferring) return { filter: asked, asked };
    const resolved = await resolveReferred(conditions, scope, parts.registry).catch(rejectSlow);
    return { filter: access.listing(action, scope, { ...query, conditions: resolved }), asked };
  }

  /**
   * Carries out a write of a record, if it has the tags that the request requires. Later writes of the request do not ask
   * again: a precondition is about the record as the request found it (RFC 9110, section 13.2).
   */
  async #write<T>(
    action: 'update' | 'del',
    scope: TenantScope,
    id: RecordId,
    { archived, ifMatch, where }: ChangeOptions,
    write: (filter: StoreFilter) => Promise<T>,
  ): Promise<T> {
    await this.requireParent(action, scope);
    const reached = this.filterOf(action, scope, objectId(id), { archived });
    // Next to the scope, never among its members, so that no condition can replace one.
    const filter = where ? { ...reached, $and: [where] } : reached;
    const tags = requiredTags(scope, this.resource.definition.entity, id, ifMatch);
    const written = await write(withTags(filter, tags));
    if (tags === undefined) return written;
    if (written && ifMatch === undefined) scope.context.precondition = undefined;
    if (!written && (await this.store.exists(filter))) throw new PreconditionFailedError();
    return written;
  }

  /** Checks values, unless a route has. A body that no route describes may come straight from a client. */
  async #checked<Values extends object>(
    { caller, context }: TenantScope,
    values: Values,
    reader: InputReader<object>,
    read: 'read' | 'readPatch',
  ): Promise<Values> {
    if (isChecked(values, reader)) return values;
    const { fieldRules } = this.resource.definition;
    const options = context.hasUnreadBody
      ? { concealed: rejectForbidden(fieldRules, caller, values) }
      : { extras: true };
    return (await reader[read](values, options)) as Values;
  }

  private requireArchive(): ArchiveDefinition {
    const { archive, label } = this.resource.definition;
    if (archive) return archive;
    throw new Error(`${label} has no archive. Give its options archive: { field }.`);
  }

  private throwNotFound(): never {
    throw new RecordNotFoundError(this.resource.definition.label);
  }
}

/** The options that `CrudService.for` made a service class from. */
export function serviceOptionsOf(service: Type<object>): object | undefined {
  return Reflect.getMetadata(OPTIONS, service) as object | undefined;
}
