import type { Schema } from 'mongoose';
import { type Order, reverseOf, sortOf } from '../definition/order.js';
import type { Stored } from '../options/records.js';
import { complementOf, type Cursors, type Position, positionOf, rangesBehind } from '../query/cursors.js';
import type { PageQuery } from '../query/list-query.js';
import type { PageCursors } from '../query/page.js';
import type { CrudStore, StoreFilter } from '../store/crud.store.js';

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
export class PageReader<Entity extends object> {
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
    const { filter, order, fields } = this.list;
    const found = await collect(
      this.store.find(filter, { sort: sortOf(order), fields, skip: offset, limit: limit + 1 }),
    );
    const results = found.slice(0, limit);
    const [first] = results;
    // Beyond the end, the previous page ends with the last record, if there is one.
    const [last] = first || offset === 0 ? [] : await this.edge(reverseOf(order));
    const prev = first ? offset > 0 && this.at(first) : last && complementOf(this.at(last));
    return { results, cursors: await this.written(this.nextOf(found, limit), prev || undefined) };
  }

  /** The page behind a position in one direction; `prev` leads in the opposite direction. */
  private async behind(position: Position, direction: Order, limit: number): Promise<Window<Entity>> {
    const opposite = complementOf(position);
    const [found, back] = await Promise.all([
      this.stretch(position, direction, limit + 1),
      this.stretch(opposite, reverseOf(direction), 1),
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

  private edge(direction: Order): Promise<Stored<Entity>[]> {
    const { filter, fields } = this.list;
    return collect(this.store.find(filter, { sort: sortOf(direction), fields, skip: 0, limit: 1 }));
  }

  private stretch(position: Position, direction: Order, limit: number): Promise<Stored<Entity>[]> {
    const { filter, fields, schema } = this.list;
    const ranges = rangesBehind(direction, position, schema);
    return collect(this.store.find(filter, { sort: sortOf(direction), fields, limit, ranges }));
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

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}
