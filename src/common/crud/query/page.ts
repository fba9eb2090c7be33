import type { QueryParameters } from '../../http/index.js';
import { copyOf } from '../store/read-batches.js';
import type { PageQuery } from './list-query.js';

/** Cursors of the previous and next page; null if there is none. */
export interface PageCursors {
  readonly next: string | null;
  readonly prev: string | null;
}

/** Parameters that say where a page is, and so differ from page to page. */
const PLACE: readonly string[] = ['offset', 'limit', 'after', 'before'];

/** One page of records, the total number of records, and links to the pages before and after it. */
export class Page<Entity> {
  /**
   * @param count undefined if the records were not counted
   * @param cursors undefined for a list without cursors
   */
  constructor(
    readonly results: readonly Entity[],
    readonly count: number | undefined,
    readonly query: PageQuery,
    readonly cursors?: PageCursors,
  ) {}

  /**
   * `Link` header (RFC 8288) with relative references: to the next and previous page if a cursor was used, otherwise to the
   * first, previous, next and last page by offset. Empty if there are no such pages.
   *
   * @param parameters of the request; those that do not say where the page is are kept
   */
  links(path: string, parameters: QueryParameters = {}): string {
    const { after, before, limit } = this.query;
    const kept = Object.entries(parameters).filter(([name]) => !PLACE.includes(name));
    const isCursor = after !== undefined || before !== undefined;
    return (isCursor ? this.cursorTargets() : this.offsetTargets())
      .map(([rel, place]) => {
        const entries = [...place, ['limit', limit] as const, ...kept];
        const query = entries.map((pair) => pair.map((text) => encodeURIComponent(String(text))).join('='));
        return `<${path}?${query.join('&')}>; rel="${rel}"`;
      })
      .join(', ');
  }

  private cursorTargets(): Target[] {
    const { next, prev } = this.cursors ?? { next: null, prev: null };
    return [
      ...(prev === null ? [] : [['prev', [['before', prev]]] as const]),
      ...(next === null ? [] : [['next', [['after', next]]] as const]),
    ];
  }

  private offsetTargets(): Target[] {
    const { offset = 0, limit } = this.query;
    const last =
      this.count === undefined ? undefined : Math.max(0, Math.ceil(this.count / limit) - 1) * limit;
    const hasNext = this.cursors ? this.cursors.next !== null : offset + limit < (this.count ?? 0);
    const targets: [rel: string, offset: number | undefined][] = [
      ['first', 0],
      ['prev', offset > 0 ? Math.max(0, Math.min(offset - limit, last ?? offset)) : undefined],
      ['next', hasNext ? offset + limit : undefined],
      ['last', last],
    ];
    return targets.flatMap(([rel, target]) =>
      target === undefined ? [] : [[rel, [['offset', target]]] as const],
    );
  }
}

const shared = new WeakMap<Page<unknown>, readonly unknown[]>();

/** A page whose records other pages share: reading its results makes copies of them. */
export function sharedPage<Entity extends object>(
  records: readonly Entity[],
  count: number | undefined,
  query: PageQuery,
  cursors: PageCursors,
): Page<Entity> {
  const page = new Page<Entity>([], count, query, cursors);
  let own: readonly Entity[] | undefined;
  const get = () => {
    // From now on they belong to this page: its reader may change them.
    shared.delete(page);
    return (own ??= records.map(copyOf));
  };
  Object.defineProperty(page, 'results', { enumerable: true, get });
  shared.set(page, records);
  return page;
}

/** The records of a page, for reading only, without copies. */
export function recordsOf<Entity>(page: Page<Entity>): readonly Entity[] {
  return (shared.get(page) as readonly Entity[] | undefined) ?? page.results;
}

/** A link relation, and the parameters, besides `limit`, of the page that it leads to. */
type Target = readonly [rel: string, place: readonly (readonly [name: string, value: string | number])[]];
