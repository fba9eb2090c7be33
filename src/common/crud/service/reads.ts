import type { Schema } from 'mongoose';
import type { InstallationKey } from '../../database/index.js';
import { DatabaseTooSlowError, QueryTooSlowError } from '../../errors/index.js';
import type { TenantScope } from '../../tenancy/index.js';
import { NEWEST_FIRST, type Order, reverseOf, sortOf } from '../definition/query-definition.js';
import type { Stored } from '../options/records.js';
import {
  Cursors,
  complementOf,
  type Page,
  type PageCursors,
  type Position,
  positionOf,
  rangesBehind,
  sharedPage,
} from '../query/pages.js';
import type { CountMode, ListQuery, PageQuery } from '../query/list-query.js';
import type { CrudStore } from '../store/crud.store.js';
import type { AggregationStage, StoreFilter, StoreRead } from '../store/store-types.js';
import type { CrudResource, Resources } from './crud-resource.js';
import { resolveReferred } from './referred-fields.js';
import { assertWithin } from './unit-of-work.js';

/** The list that a page belongs to. */
interface ReadList {
  readonly filter: StoreFilter;
  readonly order: Order;
  readonly schema: Schema;
  /** Paths to read, including those of the order. @default all */
  readonly fields?: readonly string[];
}

/** Records of a page, and the cursors at both ends. */
interface Window<Entity> {
  readonly results: readonly Stored<Entity>[];
  readonly cursors: PageCursors;
}

/**
 * Reads one page of a list. Reading one extra record tells whether there is a next page, and one more on the
 * other side whether there is a previous page.
 */
class PageReader<Entity extends object> {
  constructor(
    private readonly store: CrudStore<Entity>,
    private readonly list: ReadList,
    private readonly cursors: Cursors,
  ) {}

  async read(query: PageQuery): Promise<Window<Entity>> {
    const { order } = this.list;
    const { offset = 0, limit, after, before } = query;
    if (after !== undefined) return this.behind(await this.cursors.read('after', after), order, limit);
    if (before === undefined) return this.atOffset(offset, limit);
    const position = await this.cursors.read('before', before);
    const { results, cursors } = await this.behind(position, reverseOf(order), limit);
    return { results: [...results].reverse(), cursors: { next: cursors.prev, prev: cursors.next } };
  }

  private async atOffset(offset: number, limit: number): Promise<Window<Entity>> {
    const { order } = this.list;
    const found = await this.find(order, limit + 1, { skip: offset });
    const results = found.slice(0, limit);
    const [first] = results;
    // Beyond the end, the previous page ends with the last record, if there is one.
    const [last] = first || offset === 0 ? [] : await this.find(reverseOf(order), 1);
    const prev = first ? offset > 0 && this.at(first) : last && complementOf(this.at(last));
    return { results, cursors: await this.written(this.nextOf(found, limit), prev || undefined) };
  }

  /** The page behind a position in one direction; `prev` leads in the opposite direction. */
  private async behind(position: Position, direction: Order, limit: number): Promise<Window<Entity>> {
    const opposite = complementOf(position);
    const [found, back] = await Promise.all([
      this.find(direction, limit + 1, { position }),
      this.find(reverseOf(direction), 1, { position: opposite }),
    ]);
    const results = found.slice(0, limit);
    const [first] = results;
    const prev = back.length === 0 ? undefined : first ? this.at(first) : opposite;
    return { results, cursors: await this.written(this.nextOf(found, limit), prev) };
  }

  private nextOf(found: readonly Stored<Entity>[], limit: number): Position | undefined {
    const last = found.length > limit ? found[limit - 1] : undefined;
    return last && this.at(last);
  }

  /** The first records in a direction: from its beginning, or behind a position. */
  private async find(
    direction: Order,
    limit: number,
    { position, skip }: { position?: Position; skip?: number } = {},
  ): Promise<Stored<Entity>[]> {
    const { filter, fields, schema } = this.list;
    const ranges = position && rangesBehind(direction, position, schema);
    const found: Stored<Entity>[] = [];
    const read = { sort: sortOf(direction), fields, skip, limit, ranges };
    for await (const record of this.store.find(filter, read)) found.push(record);
    return found;
  }

  private at(record: Stored<Entity>): Position {
    return positionOf(record, this.list.order);
  }

  private async written(next: Position | undefined, prev: Position | undefined): Promise<PageCursors> {
    const [nextText, prevText] = await Promise.all(
      [next, prev].map((position) => (position ? this.cursors.write(position) : null)),
    );
    return { next: nextText ?? null, prev: prevText ?? null };
  }
}

/** Carries out reads of many records: lists, pages, counts. Filters come from `Access`. */
export class Reads<Entity extends object, Create extends object, Update extends object> {
  constructor(
    private readonly resource: CrudResource<Entity, Create, Update>,
    private readonly key: InstallationKey,
    private readonly registry: Resources,
  ) {}

  async *list(scope: TenantScope, query: ListQuery): AsyncGenerator<Stored<Entity>, void, undefined> {
    const { filter } = await this.select('get', scope, query);
    try {
      yield* this.resource.store.find(filter, this.readOf(query));
    } catch (error) {
      throw translated(error);
    }
  }

  async page(scope: TenantScope, query: PageQuery): Promise<Page<Stored<Entity>>> {
    const { definition, store } = this.resource;
    const { filter, asked } = await this.select('get', scope, query);
    const order = query.order ?? NEWEST_FIRST;
    const { fields } = this.readOf(query);
    const { offset, limit, after, before, count: mode, isBody = false } = query;
    const how = { order, fields, offset, limit, after, before, mode, isBody };
    const read = () => {
      const cursors = new Cursors(this.key, { resource: definition.name, order, filter: asked, isBody });
      const reader = new PageReader(store, { filter, order, fields, schema: definition.schema }, cursors);
      return Promise.all([reader.read(query), this.counted(filter, mode)]);
    };
    const [{ results, cursors }, count] = await timed(store.share(filter, how, read));
    return sharedPage(results, count, query, cursors);
  }

  async count(scope: TenantScope, query: ListQuery): Promise<number> {
    const { filter } = await this.select('count', scope, query);
    return timed(this.resource.store.count(filter));
  }

  async aggregate<Result extends object>(
    scope: TenantScope,
    stages: readonly AggregationStage[],
    query: ListQuery,
  ): Promise<Result[]> {
    rejectForeign(stages);
    const { filter } = await this.select('get', scope, query);
    return timed(this.resource.store.aggregate<Result>(filter, stages));
  }

  /** The filter of the records that a query selects, and what was asked for, which stays the same while others write. */
  private async select(action: 'get' | 'count', scope: TenantScope, query: ListQuery) {
    const { access, definition, parents, search } = this.resource;
    assertWithin(scope);
    const asked = access.listing(action, scope, query);
    await parents?.require(action, scope);
    if (query.search) await search?.require();
    const { conditions = [] } = query;
    if (!definition.query.isReferring) return { filter: asked, asked };
    const resolved = await timed(resolveReferred(conditions, scope, this.registry));
    const filter =
      resolved === conditions ? asked : access.listing(action, scope, { ...query, conditions: resolved });
    return { filter, asked };
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

/** Stages that read or write other collections, or other records than those in the scope. */
const FOREIGN = ['$lookup', '$graphLookup', '$unionWith', '$out', '$merge'];

/** @throws Error if a stage, or one inside another, leaves the scope */
function rejectForeign(stage: unknown): void {
  if (typeof stage !== 'object' || stage === null) return;
  for (const [name, value] of Object.entries(stage)) {
    if (FOREIGN.includes(name))
      throw new Error(
        `An aggregation of a scope cannot have ${name}, which leaves the scope. Read the other records through their own service.`,
      );
    rejectForeign(value);
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
