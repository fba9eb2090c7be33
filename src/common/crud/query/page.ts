import type { PageQuery } from './list-query.js';

/** One page of records, and how many there are in all. */
export class Page<Entity> {
  constructor(
    readonly results: readonly Entity[],
    readonly count: number,
    readonly query: PageQuery,
  ) {}

  /**
   * `Link` header (RFC 8288) to the first, previous, next and last page, as relative references.
   *
   * @param kept other parameters of the request, which the other pages have, too
   */
  links(path: string, kept: Readonly<Record<string, string>> = {}): string {
    const { offset = 0, limit } = this.query;
    const last = Math.max(0, Math.ceil(this.count / limit) - 1) * limit;
    const targets: [rel: string, offset: number | undefined][] = [
      ['first', 0],
      ['prev', offset > 0 ? Math.max(0, Math.min(offset - limit, last)) : undefined],
      ['next', offset + limit < this.count ? offset + limit : undefined],
      ['last', last],
    ];
    const others = Object.entries(kept).map(([name, value]) => `&${name}=${encodeURIComponent(value)}`);
    return targets
      .filter(([, target]) => target !== undefined)
      .map(([rel, target]) => `<${path}?offset=${target}&limit=${limit}${others.join('')}>; rel="${rel}"`)
      .join(', ');
  }
}
