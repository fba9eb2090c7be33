import type { Random } from '../random.js';
import { listed, OPERATORS, reverseOf, takesList } from '../query-words.js';
import type { Stored, Surface } from './surfaces.js';

export interface Sent {
  method: string;
  path: string;
  token?: string;
  headers?: Record<string, string>;
  body?: unknown;
  /** The resource whose records it is to change, if any. */
  name?: string;
}

type Parameters = Record<string, string>;

interface Condition {
  readonly path: string;
  readonly operator: string;
  readonly values: readonly string[];
}

/** What a query asks for: in a query string, or in a body. */
interface Query {
  readonly conditions?: readonly Condition[];
  readonly parameters?: Parameters;
}

const ARCHIVED = [undefined, 'only', 'include'] as const;
const NO_VALUE = ['', 'no such value', '000000000000000000000000', '2020-01-01T00:00:00Z', '3', 'true'];
const MALFORMED: readonly Parameters[] = [
  'limit=0 offset=-1 limit=5&after=x before=x&offset=1 sort=secret sort=-__v secret=tea secret[startsWith]=tea',
  '__v=1 _words=tea box.secret=tea name[regex]=.* _id=7 fields=secret fields=_words expand=tenant q=" q=-tea',
  'archived=yes archived= archived=only count=all&limit=2 formerly=tea fee[gte]=3 sort=fee salary[gt]=2 sort=salary fields=salary',
].flatMap((queries) => queries.split(' ').map((query) => Object.fromEntries(new URLSearchParams(query))));

/** Makes requests from all that two databases hold, seen or not. */
export class Requests {
  private readonly cursors: { sent: Sent; text: string }[] = [];

  /** @param records of each resource; of any world, and of more of them later */
  constructor(
    private readonly random: Random,
    readonly surfaces: readonly Surface[],
    readonly records: Readonly<Record<string, readonly Stored[]>>,
    private readonly tokens: readonly (string | undefined)[],
  ) {}

  /** Every filter with every operator, every order, choice of fields, expansion and mode, and every malformed query. */
  *exhaustive(tokens: readonly (string | undefined)[]): Generator<Sent> {
    for (const surface of this.surfaces) {
      for (const archived of surface.archive ? ARCHIVED : ARCHIVED.slice(0, 1)) {
        for (const { conditions, parameters } of this.eachQuery(surface)) {
          const query = { conditions, parameters: { ...parameters, ...(archived && { archived }) } };
          for (const token of tokens) yield this.reading(surface, query, token);
        }
      }
    }
  }

  private *eachQuery(surface: Surface): Generator<Query> {
    for (const [path, kind] of Object.entries(surface.filters)) {
      for (const operator of OPERATORS[kind]) yield { conditions: [this.condition(surface, path, operator)] };
    }
    for (const parameters of this.eachChoice(surface)) yield { parameters };
  }

  private *eachChoice(surface: Surface): Generator<Parameters> {
    for (const order of surface.orders) {
      yield { sort: order, offset: '1', limit: '3' };
      yield { sort: reversed(order), limit: '4', count: 'estimated' };
    }
    for (const field of surface.fields) yield { fields: field };
    for (const expand of surface.expand) yield { expand };
    for (const count of ['exact', 'estimated', 'none']) yield { count, limit: '2' };
    yield { q: 'tea' };
    yield { q: '"tea red" -blue' };
    yield { offset: '1000' };
    yield* MALFORMED;
  }

  any(): Sent {
    const { random } = this;
    const surface = random.pick(this.surfaces);
    const token = random.pick(this.tokens);
    if (this.cursors.length > 0 && random.chance(0.15)) {
      const { sent, text } = random.pick(this.cursors);
      const place = random.pick(['after', 'before']);
      const { path, body } = sent;
      if (body) return { ...sent, token, body: { ...body, [place]: text } };
      return { ...sent, token, path: `${path}${path.includes('?') ? '&' : '?'}${place}=${text}` };
    }
    const conditions = random.list(0, 2, () => {
      const path = random.pick(Object.keys(surface.filters));
      return this.condition(surface, path, random.pick(OPERATORS[surface.filters[path] ?? 'identifier']));
    });
    const parameters: Parameters = {};
    if (random.chance(0.4)) parameters.sort = this.orderOf(surface);
    if (random.chance(0.2)) parameters.fields = random.draw(surface.fields, 2).join();
    if (random.chance(0.3)) parameters.q = this.phraseOf(surface);
    if (random.chance(0.4) && surface.expand.length > 0) parameters.expand = random.pick(surface.expand);
    if (random.chance(0.5)) parameters.limit = String(1 + random.below(5));
    if (random.chance(0.2)) parameters.offset = String(random.below(12));
    if (random.chance(0.2)) parameters.count = random.pick(['exact', 'estimated', 'none']);
    if (random.chance(surface.archive ? 0.5 : 0.02)) parameters.archived = random.pick(['only', 'include']);
    if (random.chance(0.05)) Object.assign(parameters, random.pick(MALFORMED));
    return this.reading(surface, { conditions, parameters }, token);
  }

  /** Remembers the cursors of a page, to be sent later. */
  learn(sent: Sent, body: unknown): void {
    if (typeof body !== 'object' || body === null || !('next' in body)) return;
    const { next, prev } = body as { next: string | null; prev?: string | null };
    const [bare = '', query = ''] = sent.path.split('?');
    const rest = query.split('&').filter((part) => !/^(after|before|offset)=/.test(part));
    const path = rest.some((part) => part !== '') ? `${bare}?${rest.join('&')}` : bare;
    const { after: _after, before: _before, offset: _offset, ...asked } = (sent.body ?? {}) as Parameters;
    const list = { ...sent, path, ...(sent.body !== undefined && { body: asked }) };
    for (const text of [next, prev]) if (text) this.cursors.push({ sent: list, text });
    if (this.cursors.length > MAX_CURSORS) this.cursors.splice(0, 2);
  }

  /** A list, count, single record or query in a body, in any form. */
  private reading(surface: Surface, { conditions = [], parameters = {} }: Query, token?: string): Sent {
    const { random } = this;
    const kind = random.pick(['', '', '', '/query', '/count', '/:id']);
    const path = this.pathOf(surface);
    const headers = {
      ...(random.chance(0.3) && { Accept: random.pick(['application/x-ndjson', 'text/csv']) }),
      ...(random.chance(0.1) && { 'If-None-Match': random.pick(['*', '"0"', '"1", W/"2"', 'x']) }),
    };
    if (kind === '/query') {
      const body = this.bodyOf(surface, conditions, parameters);
      const [method, suffix] = random.chance(0.5) ? ['POST', kind] : ['QUERY', ''];
      return { method, path: path + suffix, token, headers, body };
    }
    const filters = conditions.map(({ path: at, operator, values }) => [
      `${at}[${operator}]`,
      takesList(operator) ? listed(values) : String(values[0]),
    ]);
    const all = Object.entries({ ...(Object.fromEntries(filters) as Parameters), ...parameters });
    const query = all
      .filter(([name]) => (TAKEN[kind] ?? /./).test(name))
      .map((pair) => pair.map(encodeURIComponent).join('='));
    const suffix = kind === '/:id' ? `/${this.idOf(surface.name)}` : kind;
    return {
      method: random.chance(0.05) ? 'HEAD' : 'GET',
      path: `${path}${suffix}${query.length > 0 ? '?' : ''}${query.join('&')}`,
      token,
      headers,
    };
  }

  /** The same query in a body, where conditions can be joined otherwise, too. */
  private bodyOf({ filters }: Surface, conditions: readonly Condition[], parameters: Parameters): object {
    const { random } = this;
    const valued = ({ path, operator, values }: Condition): object => {
      const kind = operator === 'exists' ? 'boolean' : filters[path];
      const typed = values.map((value) => (kind === 'number' || kind === 'boolean' ? parsed(value) : value));
      const where = { [path]: { [operator]: takesList(operator) ? typed : typed[0] } };
      return random.chance(0.3) ? { not: where } : where;
    };
    const wheres = conditions.map(valued);
    const members = Object.entries(parameters).map(([name, text]) => {
      if (['sort', 'fields', 'expand'].includes(name)) return [name, text.split(',')];
      return [name, ['limit', 'offset'].includes(name) ? parsed(text) : text];
    });
    return {
      ...(wheres.length > 0 && { where: { [random.pick(['and', 'or'])]: wheres } }),
      ...(Object.fromEntries(members) as object),
    };
  }

  /** The path of a resource, below any parent there is. */
  pathOf({ path }: Surface, idOf = (name: string) => this.idOf(name)): string {
    return path.replace(/:(\w+)Id/, (_, parent: string) => idOf(`${parent}s`));
  }

  /** The identifier of any record of a resource, or of none. */
  idOf(name: string): string {
    const { random, records } = this;
    const known = records[name] ?? [];
    if (known.length === 0 || random.chance(0.05)) return random.pick(['7', random.hex(24)]);
    return String(random.pick(known)._id);
  }

  private orderOf({ orders }: Surface): string {
    const order = this.random.pick(orders);
    return this.random.chance(0.5) ? order : reversed(order);
  }

  private phraseOf(surface: Surface): string {
    const { random } = this;
    const words = String(this.anyOf(surface)[surface.text]).split(' ');
    return random.pick([words[0] ?? 'tea', `"${words.join(' ').slice(0, 100)}"`, `tea -${words[0]}`]);
  }

  private condition(surface: Surface, path: string, operator: string): Condition {
    const { random } = this;
    if (operator === 'exists') return { path, operator, values: [random.pick(['true', 'false'])] };
    const value = () => {
      const record = this.anyOf(surface);
      // What is hidden, too: nobody may find a record by it.
      const source = random.chance(0.05) ? record.secret : this.valueAt(record, path);
      return random.chance(0.1) || source === undefined ? random.pick(NO_VALUE) : written(source);
    };
    const count = takesList(operator) ? 1 + random.below(4) : 1;
    return { path, operator, values: Array.from({ length: count }, value) };
  }

  private anyOf({ name }: Surface): Stored {
    const known = this.records[name] ?? [];
    return known.length === 0 ? {} : this.random.pick(known);
  }

  /** The value at a path, which may lead behind a reference. */
  private valueAt(record: Stored, path: string): unknown {
    const value = path
      .split('.')
      .reduce<unknown>((at, name) => (at as Stored | null | undefined)?.[name], record);
    if (value === undefined && path.includes('.')) {
      const [referred = '', field = ''] = path.split('.');
      const known = this.records[`${referred}s`] ?? [];
      return known.length === 0 ? undefined : this.random.pick(known)[field];
    }
    return Array.isArray(value) ? (value as unknown[])[0] : value;
  }
}

const MAX_CURSORS = 200;

/** Parameters that are sent with reads; all to a list. */
const TAKEN: Partial<Record<string, RegExp>> = {
  '/count': /\[|^(q|archived|secret|__v)$/,
  '/:id': /^(fields|expand|archived|secret)$/,
};

const reversed = (order: string) => order.split(',').map(reverseOf).join();

const written = (value: unknown) => (value instanceof Date ? value.toISOString() : String(value));

/** The value that a text spells in JSON, or the text. */
function parsed(text: string): unknown {
  return /^(true|false|0|-?[1-9]\d*)$/.test(text) ? (JSON.parse(text) as unknown) : text;
}
