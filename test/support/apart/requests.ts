import type { Random } from '../random.js';
import { OPERATORS, type Stored, type Surface, SURFACES } from './surfaces.js';
import { type Contents, hex } from './worlds.js';

/** A request that both worlds are sent. */
export interface Sent {
  method: string;
  path: string;
  token?: string;
  headers?: Record<string, string>;
  body?: unknown;
}

type Parameters = Record<string, string>;

const ARCHIVED = [undefined, 'only', 'include'] as const;
const NO_VALUE = ['', 'no such value', '000000000000000000000000', '2020-01-01T00:00:00Z', '3', 'true'];
const MALFORMED: readonly Parameters[] = [
  'limit=0 offset=-1 limit=5&after=x before=x&offset=1 sort=secret sort=-__v secret=tea secret[startsWith]=tea',
  '__v=1 _words=tea box.secret=tea name[regex]=.* _id=7 fields=secret fields=_words expand=tenant q=" q=-tea',
  'archived=yes archived= count=all&limit=2 formerly=tea fee[gte]=3 sort=fee',
].flatMap((queries) => queries.split(' ').map((query) => Object.fromEntries(new URLSearchParams(query))));

/** Makes requests from all that two databases hold, seen or not. */
export class Requests {
  private readonly records: Readonly<Record<string, readonly Stored[]>>;
  private readonly cursors: { path: string; text: string }[] = [];

  constructor(
    private readonly random: Random,
    contents: readonly Contents[],
    private readonly tokens: readonly (string | undefined)[],
  ) {
    this.records = Object.fromEntries(
      SURFACES.map(({ name }) => [name, contents.flatMap((each) => each[name] ?? [])]),
    );
  }

  /** Every filter with every operator, every order, choice of fields, expansion and mode, and every malformed query. */
  *exhaustive(): Generator<Sent> {
    for (const surface of SURFACES) {
      for (const archived of ARCHIVED) {
        const base: Parameters = archived ? { archived } : {};
        for (const parameters of this.eachQuery(surface)) {
          for (const token of this.tokens) {
            yield this.reading(surface, { ...parameters, ...base }, token);
          }
        }
      }
    }
  }

  private *eachQuery(surface: Surface): Generator<Parameters> {
    for (const [path, kind] of Object.entries(surface.filters)) {
      for (const operator of OPERATORS[kind]) {
        yield { [`${path}[${operator}]`]: this.valueFor(surface, path, operator) };
      }
    }
    for (const order of surface.orders) {
      yield { sort: order, offset: '1', limit: '3' };
      yield { sort: reverseOf(order), limit: '4', count: 'estimated' };
    }
    for (const field of surface.fields) yield { fields: field };
    for (const expand of surface.expand) yield { expand };
    for (const count of ['exact', 'estimated', 'none']) yield { count, limit: '2' };
    yield { q: 'tea' };
    yield { q: '"tea red" -blue' };
    yield { offset: '1000' };
    yield* MALFORMED;
  }

  /** A query of any parameters. */
  any(): Sent {
    const { random } = this;
    const surface = random.pick(SURFACES);
    const token = random.pick(this.tokens);
    if (this.cursors.length > 0 && random.chance(0.15)) {
      const { path, text } = random.pick(this.cursors);
      const name = random.pick(['after', 'before']);
      return { method: 'GET', path: `${path}${path.includes('?') ? '&' : '?'}${name}=${text}`, token };
    }
    const parameters: Parameters = {};
    for (let i = random.below(3); i > 0; i--) {
      const path = random.pick(Object.keys(surface.filters));
      const operator = random.pick(OPERATORS[surface.filters[path] ?? 'identifier']);
      parameters[`${path}[${operator}]`] = this.valueFor(surface, path, operator);
    }
    if (random.chance(0.4)) parameters.sort = this.orderOf(surface);
    if (random.chance(0.2)) parameters.fields = random.draw(surface.fields, 2).join();
    if (random.chance(0.3)) parameters.q = this.phraseOf(surface);
    if (random.chance(0.4) && surface.expand.length > 0) parameters.expand = random.pick(surface.expand);
    if (random.chance(0.5)) parameters.limit = String(1 + random.below(5));
    if (random.chance(0.2)) parameters.offset = String(random.below(12));
    if (random.chance(0.2)) parameters.count = random.pick(['exact', 'estimated', 'none']);
    if (random.chance(surface.archive ? 0.5 : 0.02)) parameters.archived = random.pick(['only', 'include']);
    if (random.chance(0.05)) Object.assign(parameters, random.pick(MALFORMED));
    return this.reading(surface, parameters, token);
  }

  /** Remembers the cursors of a page, to be sent later. */
  learn(path: string, body: unknown): void {
    if (typeof body !== 'object' || body === null || !('next' in body)) return;
    const { next, prev } = body as { next: string | null; prev?: string | null };
    const [bare = '', query = ''] = path.split('?');
    const rest = query.split('&').filter((part) => !/^(after|before|offset)=/.test(part));
    const list = rest.some((part) => part !== '') ? `${bare}?${rest.join('&')}` : bare;
    for (const text of [next, prev]) if (text) this.cursors.push({ path: list, text });
  }

  /** A list, count or single record, in any form. */
  private reading(surface: Surface, parameters: Parameters, token: string | undefined): Sent {
    const { random } = this;
    const kind = random.pick(['', '', '', '', '/count', '/:id'] as const);
    const suffix = kind === '/:id' ? `/${this.idOf(surface)}` : kind;
    const taken = kind === '' ? parameters : only(parameters, kind === '/count' ? COUNTED : GOTTEN);
    const query = Object.entries(taken).map((pair) => pair.map(encodeURIComponent).join('='));
    return {
      method: random.chance(0.05) ? 'HEAD' : 'GET',
      path: `${this.pathOf(surface)}${suffix}${query.length > 0 ? '?' : ''}${query.join('&')}`,
      token,
      headers: {
        ...(random.chance(0.2) && { Accept: 'application/x-ndjson' }),
        ...(random.chance(0.1) && { 'If-None-Match': random.pick(['*', '"0"', '"1", W/"2"', 'x']) }),
      },
    };
  }

  /** The path of a resource, below any vault there is. */
  pathOf({ path }: Surface): string {
    return path.replace(':vaultId', () =>
      this.idOf(SURFACES.find(({ name }) => name === 'vaults') as Surface),
    );
  }

  /** The identifier of any record of a resource, or of none. */
  idOf({ name }: Surface): string {
    const { random } = this;
    if (random.chance(0.05)) return random.pick(['7', hex(random, 24)]);
    return String(random.pick(this.records[name] ?? [])._id);
  }

  private orderOf({ orders }: Surface): string {
    const order = this.random.pick(orders);
    return this.random.chance(0.5) ? order : reverseOf(order);
  }

  private phraseOf({ name, text }: Surface): string {
    const { random } = this;
    const words = String(random.pick(this.records[name] ?? [])[text]).split(' ');
    return random.pick([words[0] ?? 'tea', `"${words.join(' ').slice(0, 100)}"`, `tea -${words[0]}`]);
  }

  private valueFor(surface: Surface, path: string, operator: string): string {
    const { random } = this;
    if (operator === 'exists') return random.pick(['true', 'false']);
    const value = () => {
      const record = random.pick(this.records[surface.name] ?? []);
      // What is hidden, too: nobody may find a record by it.
      const source = random.chance(0.05) ? record.secret : valueAt(record, path);
      return random.chance(0.1) || source === undefined ? random.pick(NO_VALUE) : written(source);
    };
    if (operator !== 'in' && operator !== 'nin') return value();
    return Array.from({ length: 1 + random.below(4) }, value)
      .map((text) => text.replace(/[\\,]/g, '\\$&'))
      .join();
  }
}

const COUNTED = /\[|^(q|archived|secret|__v)$/;
const GOTTEN = /^(fields|expand|archived|secret)$/;

function only(parameters: Parameters, names: RegExp): Parameters {
  return Object.fromEntries(Object.entries(parameters).filter(([name]) => names.test(name)));
}

function reverseOf(order: string): string {
  return order
    .split(',')
    .map((key) => (key.startsWith('-') ? key.slice(1) : `-${key}`))
    .join();
}

function valueAt(record: Stored, path: string): unknown {
  const value = path
    .split('.')
    .reduce<unknown>((at, name) => (at as Stored | null | undefined)?.[name], record);
  return Array.isArray(value) ? (value as unknown[])[0] : value;
}

const written = (value: unknown) => (value instanceof Date ? value.toISOString() : String(value));
