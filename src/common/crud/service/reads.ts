import type { Schema } from 'mongoose';
import { DatabaseTooSlowError, QueryTooSlowError } from '../../errors/index.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
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
import type { StoreFilter, StoreRead } from '../store/store-types.js';
import type { CrudResource } from './crud-resource.js';

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
  /** @param fields paths to read, including those of the order; undefined for all */
  constructor(
    private readonly store: CrudStore<Entity>,
    private readonly list: {
      filter: StoreFilter;
      order: Order;
      schema: Schema;
      fields?: readonly string[];
      cursors: Cursors;
    },
  ) {}

  async read(query: PageQuery): Promise<Window<Entity>> {
    const { cursors: known, order } = this.list;
    const { offset = 0, limit, after, before } = query;
    if (after !== undefined) return this.behind(await known.read('after', after), order, limit);
    if (before === undefined) return this.atOffset(offset, limit);
    const position = await known.read('before', before);
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
    const text = async (position?: Position) => (position ? this.list.cursors.write(position) : null);
    return { next: await text(next), prev: await text(prev) };
  }
}

/** The filter of a list, and what was asked for, which stays the same while others write. */
interface Selection {
  readonly filter: StoreFilter;
  readonly asked: StoreFilter;
}

/** Reads one page of a list, shared by all who ask for the same. */
export async function readPage<Entity extends object>(
  { definition, parts: { key }, store }: Pick<CrudResource<Entity>, 'definition' | 'parts' | 'store'>,
  { filter, asked }: Selection,
  query: PageQuery,
): Promise<Page<Stored<Entity>>> {
  const { name, schema } = definition;
  const { order = NEWEST_FIRST, offset, limit, after, before, count: mode, isBody = false } = query;
  const { fields } = readOf(definition, query);
  const how = { order, fields, offset, limit, after, before, mode, isBody };
  const read = () => {
    const cursors = new Cursors(key, { resource: name, order, filter: asked, isBody });
    const reader = new PageReader(store, { filter, order, fields, schema, cursors });
    return Promise.all([reader.read(query), counted(store, filter, mode)]);
  };
  const [{ results, cursors }, count] = await store.share(filter, how, read).catch(rejectSlow);
  return sharedPage(results, count, query, cursors);
}

async function counted(
  store: CrudStore<object>,
  filter: StoreFilter,
  mode: CountMode = 'exact',
): Promise<number | undefined> {
  if (mode === 'none') return undefined;
  // The collection's own figure includes records that a filter hides, and that the caller must not learn of.
  const isWhole = mode === 'estimated' && Object.keys(filter).length === 0;
  return isWhole ? store.estimatedCount() : store.count(filter);
}

/** How the store reads the records of a query. */
export function readOf({ options }: CrudDefinition, { fields, order = NEWEST_FIRST }: ListQuery): StoreRead {
  // An output may be computed from any field.
  const projected = options.output === undefined ? fields : undefined;
  return {
    sort: sortOf(order),
    ...(projected && { fields: [...projected, ...order.keys.map(({ path }) => path)] }),
  };
}

/** Stages that read or write other collections, or other records than those in the scope. */
const FOREIGN = ['$lookup', '$graphLookup', '$unionWith', '$out', '$merge'];

/** @throws Error if a stage, or one inside another, leaves the scope */
export function rejectForeign(stage: unknown): void {
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
export function rejectSlow(error: unknown): never {
  throw error instanceof DatabaseTooSlowError ? new QueryTooSlowError({ cause: error.cause }) : error;
}
