import { Types } from 'mongoose';
import { RecordNotFoundError } from '../errors/index.js';
import type { EntityEventPublisher } from '../events/index.js';
import type { TenantScope } from '../tenancy/index.js';
import type { CrudDefinition } from './crud.definition.js';
import type { Stored } from './crud-options.interface.js';
import type { CrudStore, StoreFilter } from './crud.store.js';
import { present } from './present.js';
import { Page } from './query/page.js';
import type { PageQuery } from './query/page-query.js';

/** What a resource's service works with; injected with `@InjectCrud(Entity)`. */
export class CrudResource<Entity extends object, Input extends object = object> {
  constructor(
    readonly definition: CrudDefinition<Entity, Input>,
    readonly store: CrudStore<Entity>,
    readonly events: EntityEventPublisher,
  ) {}
}

/** The body of an update: the input's fields, all optional; `null` removes one (RFC 7396). */
export type Changes<Input> = { readonly [Field in keyof Input]?: Input[Field] | null };

/**
 * The verbs of a resource. The caller's scope comes first in each: what it isolates can be neither seen nor changed.
 * A feature extends it to replace single verbs or add its own.
 */
export class CrudService<Entity extends object, Input extends object> {
  constructor(protected readonly resource: CrudResource<Entity, Input>) {}

  /** Every record, newest first, read from the database as it is consumed. */
  list(scope: TenantScope): AsyncIterable<Stored<Entity>> {
    return this.store.find(this.visibleTo(scope));
  }

  /** One page of the list, and how many records there are in all. */
  async page(scope: TenantScope, query: PageQuery): Promise<Page<Stored<Entity>>> {
    const filter = this.visibleTo(scope);
    const [results, count] = await Promise.all([
      collect(this.store.find(filter, { skip: query.offset, limit: query.limit })),
      this.store.count(filter),
    ]);
    return new Page(results, count, query);
  }

  /** How many records there are. */
  count(scope: TenantScope): Promise<number> {
    return this.store.count(this.visibleTo(scope));
  }

  /** @throws RecordNotFoundError where no record of the scope has the id */
  async get(scope: TenantScope, id: string): Promise<Stored<Entity>> {
    const record = await this.store.findOne(this.visibleTo(scope, id));
    if (!record) throw this.notFound();
    return record;
  }

  /** Stores a record of the scope, then runs the afterCreate hook and emits its event. */
  async create(scope: TenantScope, input: Input): Promise<Stored<Entity>> {
    const record = await this.store.insert({ ...input, ...scope.fields });
    const { name, hooks } = this.resource.definition;
    const event = {
      resource: name,
      action: 'create',
      record: present(record, this.resource.definition),
      tenant: scope.caller.tenant,
      time: new Date().toISOString(),
    } as const;
    await this.resource.events.publish('afterCreate', event, hooks.afterCreate);
    return record;
  }

  /**
   * Sets the supplied fields and removes those that are null.
   *
   * @throws RecordNotFoundError where no record of the scope has the id
   */
  async update(scope: TenantScope, id: string, changes: Changes<Input>): Promise<void> {
    const { schema } = this.resource.definition;
    const defaultOf = (field: string) => (schema.path(field)?.options as { default?: unknown }).default;
    const entries = Object.entries(changes)
      .filter(([, value]) => value !== undefined)
      .map(([field, value]): [string, unknown] => [field, value ?? defaultOf(field) ?? null]);
    const set = Object.fromEntries(entries.filter(([, value]) => value !== null));
    const unset = entries.filter(([, value]) => value === null).map(([field]) => field);
    if (!(await this.store.update(this.visibleTo(scope, id), { set, unset }))) throw this.notFound();
  }

  /**
   * Removes the record for good.
   *
   * @throws RecordNotFoundError where no record of the scope has the id
   */
  async del(scope: TenantScope, id: string): Promise<void> {
    if (!(await this.store.delete(this.visibleTo(scope, id)))) throw this.notFound();
  }

  protected get store(): CrudStore<Entity> {
    return this.resource.store;
  }

  /** The filter of what a caller may reach: the resource's visible records within the scope. */
  protected visibleTo(scope: TenantScope, id?: string): StoreFilter {
    return { ...this.resource.definition.visible, ...this.scopedTo(scope, id) };
  }

  /** The filter of the scope alone, hidden records included. */
  protected scopedTo(scope: TenantScope, id?: string): StoreFilter {
    return { ...scope.fields, ...(id !== undefined && { _id: new Types.ObjectId(id) }) };
  }

  protected notFound(): RecordNotFoundError {
    return new RecordNotFoundError(this.resource.definition.label);
  }
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}
