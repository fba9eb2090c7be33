import type { Schema } from 'mongoose';
import { DatabaseTooSlowError, QueryTooSlowError } from '../../errors/index.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import { NEWEST_FIRST, type Order, reverseOf, sortOf } from '../definition/query-definition.js';
import type { Stored } from '../options/records.js';
import {
  Cursors,
  complementOf,
  type Page,
  type Position,
  positionOf,
  rangesBehind,
  sharedPage,
} from '../query/pages.js';
import type { CountMode, ListQuery, PageQuery } from '../query/list-query.js';
import type { CrudStore } from '../store/crud.store.js';
import type { StoreFilter, StoreRead } from '../schema/store-types.js';
import type { CrudResource } from './crud-resource.js';

/** Records of a page, and the positions that the next and the previous page begin behind. */
interface Window<Entity> {
  readonly results: readonly Stored<Entity>[];
  readonly next?: Position;
  readonly prev?: Position;
}

/**
 * Reads one page of a list. Reading one extra record tells whether there is a next page, and one more on the
 * other side whether there is a previous page.
 */
class PageReader<Entity extends object> {
  /** @param fields paths to read, including those of the order; undefined for all */
  constructor(
    private readonly store: CrudStore<Entity>,
    private readonly schema: Schema,
    private readonly filter: StoreFilter,
    private readonly order: Order,
    private readonly fields: readonly string[] | undefined,
  ) {}

  async read({ offset = 0, limit, after, before }: PageQuery, cursors: Cursors): Promise<Window<Entity>> {
    if (after !== undefined) return this.behind(await cursors.read('after', after), this.order, limit);
    if (before === undefined) return this.atOffset(offset, limit);
    const position = await cursors.read('before', before);
    const { results, next, prev } = await this.behind(position, reverseOf(this.order), limit);
    return { results: [...results].reverse(), next: prev, prev: next };
  }

  private async atOffset(offset: number, limit: number): Promise<Window<Entity>> {
    const window = this.windowOf(await this.find(this.order, limit + 1, { skip: offset }), limit);
    const [first] = window.results;
    if (first) return { ...window, prev: offset > 0 ? this.at(first) : undefined };
    // Beyond the end, the previous page ends with the last record, if there is one.
    const [last] = offset === 0 ? [] : await this.find(reverseOf(this.order), 1);
    return { ...window, prev: last && complementOf(this.at(last)) };
  }

  /** The page behind a position in one direction; `prev` leads in the opposite direction. */
  private async behind(position: Position, direction: Order, limit: number): Promise<Window<Entity>> {
    const opposite = complementOf(position);
    const [found, back] = await Promise.all([
      this.find(direction, limit + 1, { position }),
      this.find(reverseOf(direction), 1, { position: opposite }),
    ]);
    const window = this.windowOf(found, limit);
    const [first] = window.results;
    const prev = first ? this.at(first) : opposite;
    return { ...window, prev: back.length > 0 ? prev : undefined };
  }

  /** @param found the records of the page, and the one behind them, if there is one */
  private windowOf(found: readonly Stored<Entity>[], limit: number): Window<Entity> {
    const last = found.length > limit ? found[limit - 1] : undefined;
    return { results: found.slice(0, limit), next: last && this.at(last) };
  }

  /** The first records in a direction: from its beginning, or behind a position. */
  private async find(
    direction: Order,
    limit: number,
    { position, skip }: { position?: Position; skip?: number } = {},
  ): Promise<Stored<Entity>[]> {
    const ranges = position && rangesBehind(direction, position, this.schema);
    const read = { sort: sortOf(direction), fields: this.fields, skip, limit, ranges };
    const found: Stored<Entity>[] = [];
    for await (const record of this.store.find(this.filter, read)) found.push(record);
    return found;
  }

  private at(record: Stored<Entity>): Position {
    return positionOf(record, this.order);
  }
}

/**
 * Reads one page of a list, shared by all who ask for the same.
 *
 * @param asked the filter before fields of other records are looked up, which stays the same while others write
 */
export async function readPage<Entity extends object>(
  { definition, parts: { key }, store }: Pick<CrudResource<Entity>, 'definition' | 'parts' | 'store'>,
  { filter, asked }: Readonly<Record<'filter' | 'asked', StoreFilter>>,
  query: PageQuery,
): Promise<Page<Stored<Entity>>> {
  const { name, schema } = definition;
  const { order = NEWEST_FIRST, offset, limit, after, before, count: mode, isBody = false } = query;
  const { fields } = readOf(definition, query);
  const read = async () => {
    const cursors = new Cursors(key, { resource: name, order, filter: asked, isBody });
    const reader = new PageReader(store, schema, filter, order, fields);
    const [{ results, next, prev }, count] = await Promise.all([
      reader.read(query, cursors),
      counted(store, filter, mode),
    ]);
    const text = async (position?: Position) => (position ? cursors.write(position) : null);
    return { results, count, cursors: { next: await text(next), prev: await text(prev) } };
  };
  const how = { order, fields, offset, limit, after, before, mode, isBody };
  const { results, count, cursors } = await store.share(filter, how, read).catch(rejectSlow);
  return sharedPage(results, count, query, cursors);
}

async function counted(store: CrudStore<object>, filter: StoreFilter, mode: CountMode = 'exact') {
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
