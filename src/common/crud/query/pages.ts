import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from 'node:crypto';
import { mongo, type Schema, type SchemaType, Types } from 'mongoose';
import type { InstallationKey } from '../../database/index.js';
import { errorMessages, toPointer, ValidationError } from '../../errors/index.js';
import type { QueryParameters } from '../../http/index.js';
import type { Order, SortKey } from '../definition/query-definition.js';
import type { Stored } from '../options/records.js';
import { type StoreFilter, valueAt } from '../schema/store-types.js';
import { copyOf } from '../store/shared-reads.js';
import type { PageQuery } from './list-query.js';

const { EJSON, deserialize, serialize } = mongo.BSON;

const CIPHER = 'aes-256-gcm';

/** Lengths of the key, the nonce and the tag (NIST SP 800-38D). Unit: bytes. */
const [KEY_BYTES, NONCE_BYTES, TAG_BYTES] = [32, 12, 16];

/** The cursors of one list: encrypted positions. Clients can neither read or make one, nor use it for another list. */
export class Cursors {
  private readonly binding: Buffer;

  /** @param list with the scope and the conditions as its filter, and whether the query was sent in a body */
  constructor(
    private readonly key: InstallationKey,
    private readonly list: { resource: string; order: Order; filter: StoreFilter; isBody: boolean },
  ) {
    const { resource, order, filter, isBody } = list;
    const parts = [resource, order.text, canonical(filter), ...(isBody ? ['body'] : [])];
    this.binding = Buffer.from(JSON.stringify(parts));
  }

  async write({ values, id, inclusive }: Position): Promise<string> {
    // BSON preserves the type and exact value of each member.
    const payload = serialize({ at: values, id, ...(inclusive && { in: true }) });
    const keys = keysOf(await this.key.get());
    // Made of what it encrypts, so that it never repeats for another content, and a page is the same for all.
    const mac = createHmac('sha256', keys.nonce).update(`${this.binding.length}:`).update(this.binding);
    const nonce = mac.update(payload).digest().subarray(0, NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, keys.content, nonce).setAAD(this.binding);
    const content = Buffer.concat([cipher.update(payload), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), content]).toString('base64url');
  }

  /** @throws ValidationError for the parameter if the text is not a cursor of this list */
  async read(parameter: string, text: string): Promise<Position> {
    const bytes = Buffer.from(text, 'base64url');
    // Decoding skips characters that are not in the alphabet.
    const isWhole = bytes.length > NONCE_BYTES + TAG_BYTES && bytes.toString('base64url') === text;
    const payload = isWhole ? await this.open(bytes) : undefined;
    if (!payload) {
      const where = this.list.isBody ? { pointer: toPointer([parameter]) } : { parameter };
      throw new ValidationError([{ ...where, detail: errorMessages.foreignCursor(parameter) }]);
    }
    const { at, in: inclusive = false, ...rest } = deserialize(payload);
    return { ...rest, values: at, inclusive } as Position;
  }

  private async open(bytes: Buffer): Promise<Buffer | undefined> {
    const known = await this.key.get();
    const payload = this.openWith(known, bytes);
    if (payload) return payload;
    const current = await this.key.reload();
    return current.equals(known) ? undefined : this.openWith(current, bytes);
  }

  /** The content; undefined if it was not encrypted with the key, or for another list. */
  private openWith(key: Buffer, bytes: Buffer): Buffer | undefined {
    const [nonce, rest] = [bytes.subarray(0, NONCE_BYTES), bytes.subarray(NONCE_BYTES)];
    const options = { authTagLength: TAG_BYTES };
    const decipher = createDecipheriv(CIPHER, keysOf(key).content, nonce, options).setAAD(this.binding);
    decipher.setAuthTag(rest.subarray(0, TAG_BYTES));
    try {
      return Buffer.concat([decipher.update(rest.subarray(TAG_BYTES)), decipher.final()]);
    } catch {
      return undefined;
    }
  }
}

/** Keys for the contents and for the nonces, by the key of the installation. */
const derived = new WeakMap<Buffer, Readonly<Record<'content' | 'nonce', Buffer>>>();

/** Keys of their own for cursors, since the installation's key has other uses (RFC 5869). */
function keysOf(key: Buffer) {
  const derive = (use: string) => Buffer.from(hkdfSync('sha256', key, '', `cursors: ${use}`, KEY_BYTES));
  const keys = derived.get(key) ?? { content: derive('content'), nonce: derive('nonce') };
  derived.set(key, keys);
  return keys;
}

/** Gives the same text for the same predicates, whatever order a client wrote them in. */
function canonical({ $and = [], ...members }: StoreFilter): string {
  const texts = [...Object.entries(members), ...($and as StoreFilter[])].map((predicate) =>
    EJSON.stringify(predicate, { relaxed: false }),
  );
  return JSON.stringify(texts.sort());
}

/** A place in an order: that of a record, whether or not the record still exists. */
export interface Position {
  /** Values of the order's keys, as stored; null if the record has none. */
  readonly values: readonly unknown[];
  readonly id: Types.ObjectId;
  /** Whether a record exactly at this place also counts as behind it. */
  readonly inclusive: boolean;
}

/** The place of a record in an order. */
export function positionOf(record: Stored<object>, { keys }: Order): Position {
  return { values: keys.map(({ path }) => valueAt(record, path) ?? null), id: record._id, inclusive: false };
}

/** The same place in the reverse order, where exactly the other records are behind it. */
export function complementOf(position: Position): Position {
  return { ...position, inclusive: !position.inclusive };
}

/**
 * Predicates of the records behind a position, to be read one after another. For the keys `a, b`, behind (x, y, id) come
 * those with `a = x, b = y, _id > id`, then `a = x, b > y`, then `a > x`. Each is one range of the order's index: with a
 * single `$or` of them, databases read more.
 */
export function rangesBehind({ keys }: Order, position: Position, schema: Schema): StoreFilter[] {
  const { values, id, inclusive } = position;
  const same = (count: number) =>
    Object.fromEntries(keys.slice(0, count).map(({ path }, i) => [path, { $eq: values[i] }]));
  const operator = `${keys.at(-1)?.descending ? '$lt' : '$gt'}${inclusive ? 'e' : ''}`;
  const ranges: StoreFilter[] = [{ ...same(keys.length), _id: { [operator]: id } }];
  for (const [i, key] of [...keys.entries()].reverse())
    for (const behind of behindValue(key, values[i], schema)) ranges.push({ ...same(i), [key.path]: behind });
  return ranges;
}

/** Records without a value come before all others, but comparisons do not match them. */
function behindValue({ path, descending }: SortKey, value: unknown, schema: Schema): object[] {
  if (descending) return value === null ? [] : [{ $lt: value }, { $eq: null }];
  return [value === null ? anyValue(schema.path(path) as SchemaType | undefined) : { $gt: value }];
}

/** The least value of each type, by the name of the Mongoose type. */
const LEAST: Readonly<Partial<Record<string, unknown>>> = {
  String: '',
  Number: -Infinity,
  Double: -Infinity,
  Int32: -(2 ** 31),
  BigInt: -(2n ** 63n),
  Decimal128: Types.Decimal128.fromString('-Infinity'),
  Date: new Date(-8.64e15),
  Boolean: false,
  ObjectId: new Types.ObjectId('0'.repeat(24)),
};

/** Uses a bound rather than "not null", which not every database can look up in an index. */
function anyValue(type: SchemaType | undefined): object {
  const least = LEAST[type?.instance ?? ''];
  return least === undefined ? { $ne: null } : { $gte: least };
}

/** Cursors of the previous and next page; null if there is none. */
export interface PageCursors {
  readonly next: string | null;
  readonly prev: string | null;
}

/** Parameters that say where a page is, and so differ from page to page. */
const PLACE: readonly string[] = ['offset', 'limit', 'after', 'before'];

/** One page of records, the total number of records, and links to the pages before and after it. */
export class Page<Entity> {
  /** @param count undefined if the records were not counted. @param cursors undefined for a list without cursors */
  constructor(
    readonly results: readonly Entity[],
    readonly count: number | undefined,
    readonly query: PageQuery,
    readonly cursors?: PageCursors,
  ) {}

  /**
   * `Link` header (RFC 8288): the next and previous page if a cursor was used, otherwise the first, previous, next and last
   * page by offset. Empty if there are no such pages.
   *
   * @param parameters of the request, which the links keep
   */
  links(path: string, parameters: QueryParameters = {}): string {
    const { after, before, limit } = this.query;
    const kept = Object.entries(parameters).filter(([name]) => !PLACE.includes(name));
    const linkTo = (rel: string, parameter: string, value: unknown) => {
      if (value === undefined || value === null) return [];
      const entries = [[parameter, value], ['limit', limit], ...kept];
      const query = entries.map((pair) => pair.map((text) => encodeURIComponent(String(text))).join('='));
      return [`<${path}?${query.join('&')}>; rel="${rel}"`];
    };
    const { next, prev } = this.cursors ?? {};
    if (after !== undefined || before !== undefined)
      return [...linkTo('prev', 'before', prev), ...linkTo('next', 'after', next)].join(', ');
    return Object.entries(this.offsets())
      .flatMap(([rel, offset]) => linkTo(rel, 'offset', offset))
      .join(', ');
  }

  /** The offsets of other pages, by their relation to this one; undefined if there is no such page. */
  private offsets(): Readonly<Record<string, number | undefined>> {
    const { offset = 0, limit } = this.query;
    const last = this.count && Math.max(0, Math.ceil(this.count / limit) - 1) * limit;
    const hasNext = this.cursors ? this.cursors.next !== null : offset + limit < (this.count ?? 0);
    return {
      first: 0,
      prev: offset > 0 ? Math.max(0, Math.min(offset - limit, last ?? offset)) : undefined,
      next: hasNext ? offset + limit : undefined,
      last,
    };
  }
}

/** The page that a value is, or is a copy of, such as one with other results; undefined if there is none. */
export function pageIn(value: unknown): Page<Stored<object>> | undefined {
  if (value instanceof Page) return value as Page<Stored<object>>;
  const { results, count, query, cursors } = (value ?? {}) as Partial<Page<Stored<object>>>;
  const isCopy = Array.isArray(results) && typeof query?.limit === 'number' && 'cursors' in (value as object);
  return isCopy ? new Page(results, count, query, cursors) : undefined;
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
