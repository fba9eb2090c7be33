import type { InstallationKey } from '../../database/index.js';
import { DatabaseTooSlowError, QueryTooSlowError } from '../../errors/index.js';
import type { TenantScope } from '../../tenancy/index.js';
import { NEWEST_FIRST, sortOf } from '../definition/order.js';
import type { Stored } from '../options/records.js';
import { Cursors } from '../query/cursors.js';
import type { CountMode, ListQuery, PageQuery } from '../query/list-query.js';
import { type Page, sharedPage } from '../query/page.js';
import type { StoreFilter, StoreRead } from '../store/crud.store.js';
import type { CrudResource } from './crud-resource.js';
import { PageReader } from './page-reader.js';

/** Carries out reads of many records: lists, pages, counts. Filters come from `Access`. */
export class Reads<Entity extends object, Create extends object, Update extends object> {
  constructor(
    private readonly resource: CrudResource<Entity, Create, Update>,
    private readonly key: InstallationKey,
  ) {}

  async *list(scope: TenantScope, query: ListQuery): AsyncGenerator<Stored<Entity>, void, undefined> {
    const { access, parents, store } = this.resource;
    const filter = access.listing('get', scope, query);
    await parents.require('get', scope);
    try {
      yield* store.find(filter, this.readOf(query));
    } catch (error) {
      throw translated(error);
    }
  }

  async page(scope: TenantScope, query: PageQuery): Promise<Page<Stored<Entity>>> {
    const { access, definition, parents, store } = this.resource;
    const filter = access.listing('get', scope, query);
    await parents.require('get', scope);
    const order = query.order ?? NEWEST_FIRST;
    const { fields } = this.readOf(query);
    const { offset, limit, after, before, count: mode } = query;
    const how = { order, fields, offset, limit, after, before, mode };
    const read = () => {
      const cursors = new Cursors(this.key, { resource: definition.name, order, filter });
      const reader = new PageReader(store, { filter, order, fields, schema: definition.schema }, cursors);
      return Promise.all([reader.read(query), this.counted(filter, mode)]);
    };
    const [{ results, cursors }, count] = await timed(store.share(filter, how, read));
    return sharedPage(results, count, query, cursors);
  }

  async count(scope: TenantScope, query: ListQuery): Promise<number> {
    const filter = this.resource.access.listing('count', scope, query);
    await this.resource.parents.require('count', scope);
    return timed(this.resource.store.count(filter));
  }

  /** How the store reads the records of a query. */
  readOf({ fields, order = NEWEST_FIRST }: ListQuery): StoreRead {
    // An output may be computed from any field.
    const projected = this.resource.definition.options.output === undefined ? fields : undefined;
    return {
      sort: sortOf(order),
      ...(projected && { fields: [...projected, ...order.keys.map(({ path }) => path)] }),
    };
  }

  private async counted(filter: StoreFilter, mode: CountMode = 'exact'): Promise<number | undefined> {
    if (mode === 'none') return undefined;
    // The collection's own figure includes records that a filter hides, and that the caller must not learn
    // of.
    const isWhole = mode === 'estimated' && Object.keys(filter).length === 0;
    return isWhole ? this.resource.store.estimatedCount() : this.resource.store.count(filter);
  }
}

/** @throws QueryTooSlowError instead of the error of a database that can be reached but takes too long */
async function timed<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw translated(error);
  }
}

function translated(error: unknown): unknown {
  return error instanceof DatabaseTooSlowError ? new QueryTooSlowError({ cause: error.cause }) : error;
}
