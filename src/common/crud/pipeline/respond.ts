import { Readable } from 'node:stream';
import { RequestMethod, StreamableFile } from '@nestjs/common';
import { Types } from 'mongoose';
import { pathOf } from '../../errors/index.js';
import { NDJSON_TYPE, type PageSlot, preferredType, queryOf, type Slot, varyBy } from '../../http/index.js';
import { rawOf, whenClosed } from '../../request/index.js';
import { bulkResponse, type BulkResults } from '../batch/carry-out.js';
import { etagOf, isKnown, isReadBy, readEntityTags } from '../definition/entity-tags.js';
import { plain } from '../definition/output.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import { hiddenFrom } from '../definition/field-rules.js';
import type { Stored } from '../options/records.js';
import type { PageQuery } from '../query/list-query.js';
import { type Page, pageIn, recordsOf } from '../query/pages.js';
import { project } from '../query/read-query.js';
import { type ResponseKind, returnsRecord, Shape, TAKES_QUERY } from '../routes/routes.js';
import { bytesOf, followSize } from '../store/shared-reads.js';
import { type Framing, inBatches, JSON_ARRAY, NDJSON, pageFraming, streamRecords } from './record-stream.js';
import { CSV_TYPE, csvOf } from './csv.js';
import type { Call } from './crud.interceptor.js';

/** The result of each kind of handler, as the store returns it. */
interface Results extends Record<Exclude<ResponseKind, 'list' | 'count'>, unknown> {
  create: Stored<object>;
  list: AsyncIterable<Stored<object>> | Page<Stored<object>>;
  count: number;
  get: Stored<object>;
  update: Stored<object>;
  bulk: { readonly results: Promise<BulkResults>; readonly atomic: boolean };
  import: Readable;
}

/** Media types of a list. The first one is the default. */
const LIST_TYPES = ['application/json', NDJSON_TYPE, CSV_TYPE] as const;
type ListType = (typeof LIST_TYPES)[number];

/** Context of a response. */
export interface ResponseContext extends Call {
  /** Expands the references that the request names. */
  readonly expansion: ((shown: readonly object[]) => Promise<void>) | undefined;
  /** Whether the caller may read a record that it has written. */
  readonly maySee: (record: Stored<object>) => Promise<boolean>;
}

type Responder<Kind extends ResponseKind> = (result: Results[Kind], context: ResponseContext) => unknown;

/** Builds the response of each kind of handler, its body and its headers. */
const RESPONDERS: { readonly [Kind in ResponseKind]: Responder<Kind> } = {
  create: async (record, context) => {
    const { request, reply } = context;
    const _id = record._id.toHexString();
    reply.header('Location', `${pathOf(request).replace(/\/$/, '')}/${_id}`);
    reply.header('ETag', etagOf(record));
    const once = shownOnce(record, context);
    return { ...((await preferred(record, context)) ?? { _id }), ...once };
  },
  list: async (result, context) => {
    const type = listType(context);
    const { definition, reply, request, route } = context;
    // RFC 10008, section 3
    if (route?.kind === 'list' && TAKES_QUERY) reply.header('Accept-Query', '"application/json"');
    const page = pageIn(result);
    if (!page)
      return stream(result as AsyncIterable<Stored<object>>, context, type, (batch) =>
        showAll(batch, context),
      );
    // A URL cannot say what a body does.
    const links = route?.body === 'query' ? '' : page.links(pathOf(request), queryOf(request));
    if (links !== '') reply.header('Link', links);
    const { count, cursors = { next: null, prev: null } } = page;
    // An output gets a copy, since your own code may change its argument.
    const records = definition.options.output === undefined ? recordsOf(page) : page.results;
    const isStreamed = isLarge(context, records);
    const rest = { ...(count !== undefined && { count }), ...cursors };
    const results = await showAll(records, context);
    const isJson = type === 'application/json';
    if (isJson && !isStreamed) return { results, ...rest };
    const framing = isJson ? pageFraming(rest) : framingOf(type, context);
    const { pageSlot } = context.scope.context;
    const slot = (isStreamed && pageSlot) || request.platform.streamSlots.pageSlot(request);
    return file(Readable.from(results), type, framing, slot);
  },
  count: (count) => ({ count }),
  get: async (record, context) => {
    const { expansion, reply, request } = context;
    // Read before the header is set, since an error must not carry the tag.
    const tags = readEntityTags('If-None-Match', request.headers['if-none-match']);
    reply.header('ETag', etagOf(record));
    // The tag covers the record only: an expanded record may have changed without it.
    if (isKnown(tags, record) && !expansion) {
      reply.status(304);
      return undefined;
    }
    return (await showAll([record], context))[0];
  },
  // Of the record, what nobody needs may be missing.
  update: async (record, context) => {
    const shown = await preferred(record, context);
    const { definition, maySee, reply, route } = context;
    const isRead = () => isReadBy(definition, route?.action ?? 'get') || maySee(record);
    if (shown || (isRecord(record) && (await isRead()))) reply.header('ETag', etagOf(record));
    return shown ?? { updated: true };
  },
  del: () => ({ deleted: true }),
  archive: () => ({ archived: true }),
  restore: () => ({ restored: true }),
  bulk: ({ results, atomic }, context) => {
    const answered = results.then((bulk) => unlessFailed(bulk, context));
    // An atomic one ends in time, or with an error.
    return atomic ? answered : bulkResponse(answered);
  },
  import: (results) => new StreamableFile(results, { type: NDJSON_TYPE }),
  own: (result, context) => {
    const { definition, reply, route } = context;
    if (result instanceof StreamableFile && typeof route?.response === 'string') {
      const isNamed = result.options.type ?? reply.getHeader('content-type');
      if (isNamed === undefined && !route.response.includes('*'))
        reply.header('Content-Type', route.response);
    }
    if (!route || !returnsRecord(route, definition) || !isRecord(result)) return showAny(result, context);
    if (route.method === RequestMethod.GET) return RESPONDERS.get(result, context);
    reply.header('ETag', etagOf(result));
    return showAny(result, context);
  },
};

/** A bulk with a failed item is not stored for its key. When it is repeated, its creates find their records. */
function unlessFailed(bulk: BulkResults, { scope }: Call): BulkResults {
  if (bulk.results.some(({ status }) => status >= 500)) scope.context.exchange?.forget();
  return bulk;
}

/** Whether a result is of the type that a kind of response expects. */
const FITS: { readonly [Kind in ResponseKind]?: (result: unknown) => boolean } = {
  create: isRecord,
  get: isRecord,
  list: (result) => pageIn(result) !== undefined || isAsyncIterable(result),
  count: (result) => typeof result === 'number',
};

/** Turns a handler's result into the response. */
export function respond(result: unknown, context: ResponseContext): unknown {
  const kind = context.route?.kind ?? 'own';
  // Your own interceptor may have wrapped the result.
  return (RESPONDERS[FITS[kind]?.(result) === false ? 'own' : kind] as Responder<'own'>)(result, context);
}

function show(record: Stored<object>, { definition, scope }: ResponseContext): object {
  return project(definition.present(record, scope.caller), scope.context.query?.fields);
}

/** The record that a write returns, if the client prefers that and may read it. */
async function preferred(record: Stored<object>, context: ResponseContext): Promise<object | undefined> {
  const { maySee, reply, request } = context;
  varyBy(reply, 'Prefer');
  if (!prefersRepresentation(request.headers.prefer) || !(await maySee(record))) return undefined;
  reply.header('Preference-Applied', 'return=representation');
  return show(record, context);
}

/** The hidden fields that a create shows once, and that its handler has set. */
function shownOnce(record: Stored<object>, { onceFields }: ResponseContext): object {
  const values = record as unknown as Record<string, unknown>;
  const names = onceFields.filter((name) => values[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, plain(values[name])]));
}

/** The records with the fields that the request asks for, and with its expanded references. */
async function showAll(records: readonly Stored<object>[], context: ResponseContext): Promise<object[]> {
  const shown = records.map((record) => show(record, context));
  await context.expansion?.(shown);
  return shown;
}

/** A list comes in the type that the client prefers; your own routes send the type that they document. */
function listType({ route, request, reply }: ResponseContext): ListType {
  if (route?.kind !== 'list') return 'application/json';
  varyBy(reply, 'Accept');
  return preferredType(request.headers.accept, LIST_TYPES);
}

function stream<Each>(
  records: AsyncIterable<Each>,
  context: ResponseContext,
  type: ListType,
  showEach: (batch: readonly Each[]) => Promise<object[]>,
) {
  // Before the slot is taken: a query that CSV cannot answer is an error.
  const framing = framingOf(type, context);
  const slot = context.request.platform.streamSlots.take('lists', context.request);
  return file(inBatches(records, showEach), type, framing, slot);
}

function framingOf(type: ListType, { definition, scope }: ResponseContext): Framing {
  if (type === CSV_TYPE) return csvOf(definition.viewOf?.(scope.caller) ?? definition, scope.context.query);
  return type === NDJSON_TYPE ? NDJSON : JSON_ARRAY;
}

async function file(records: AsyncIterable<object>, type: ListType, framing: Framing, slot: Slot) {
  const body = await streamRecords(records, framing, slot);
  return new StreamableFile(body, { type: `${type}; charset=utf-8` });
}

/** The response of your own route: records are shown as everywhere else, other values as JSON carries them. */
async function showAny(result: unknown, context: ResponseContext): Promise<unknown> {
  if (typeof result !== 'object' || result === null || result instanceof StreamableFile) return result;
  const page = pageIn(result);
  if (page) return RESPONDERS.list(page, context);
  const { definition, route } = context;
  const response = route?.response instanceof Shape ? route.response.type : route?.response;
  const isShown = (value: unknown) =>
    (response ?? definition.entity) === definition.entity && isRecord(value);
  if (Array.isArray(result)) {
    if (result.every(isShown)) return showAll(result as Stored<object>[], context);
    return Promise.all(result.map((entry) => showAny(entry, context)));
  }
  if (isAsyncIterable(result)) {
    const showEach = (batch: readonly object[]) => showAny(batch, context) as Promise<object[]>;
    return stream(result as AsyncIterable<object>, context, 'application/json', showEach);
  }
  if (isShown(result)) return (await showAll([result as Stored<object>], context))[0];
  const isGenerated = route !== undefined && route.kind !== 'own';
  return plain(result, partOf(context, response ? response === definition.entity : isGenerated));
}

/**
 * Shows the records inside of other values: those of the entity as everywhere else, others as your code made them, without
 * the revision, and what the caller may not read of the resource.
 */
function partOf(context: ResponseContext, isOfEntity: boolean) {
  const { definition, scope } = context;
  const withheld = ['__v', ...hiddenFrom(definition.fieldRules, scope.caller)];
  const part = (value: object): unknown => {
    if (isAsyncIterable(value))
      throw new Error(
        'An answer has a list inside that is not read yet. Return the list itself, or an array.',
      );
    if (isOfEntity && isRecord(value)) return show(value, context);
    const page = pageIn(value);
    if (page) return plain({ results: page.results, count: page.count, ...page.cursors }, part);
    if (!('_id' in value)) return undefined;
    const members = Object.entries(value).filter(([name]) => !withheld.includes(name));
    return Object.fromEntries(members.map(([name, member]) => [name, plain(member, part)]));
  };
  return part;
}

function isRecord(value: unknown): value is Stored<object> {
  return typeof value === 'object' && value !== null && '_id' in value && value._id instanceof Types.ObjectId;
}

function isAsyncIterable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

/** Whether a `Prefer` header (RFC 7240) asks for the whole record in response to a write. */
export function prefersRepresentation(header: string | string[] | undefined): boolean {
  const preferences = [header ?? ''].flat().join(',').split(',');
  const values = preferences.map(
    (preference) => /^\s*return\s*=\s*"?([\w-]+)"?\s*(?:;.*)?$/i.exec(preference)?.[1],
  );
  return values.find((value) => value !== undefined)?.toLowerCase() === 'representation';
}

/** Maximum size of a page that is not counted and is sent as a whole. Unit: bytes. */
const SMALL = 262_144;
/** Assumed size of a record before the first page is read. Unit: bytes. */
const FIRST_GUESS = 65_536;

declare module '../../request/index.js' {
  interface RequestContext {
    /** The memory of the requested page, if it may be large. */
    pageSlot?: PageSlot;
  }
}

/** Size of a record in recent pages of each resource. Unit: bytes. */
const sizes = new WeakMap<CrudDefinition, number>();

/**
 * Waits until there is memory for the requested page, which is released when the response has been sent.
 *
 * @throws OverloadedError, TooManyRequestsError if no memory becomes free in time
 */
export async function reservePage(
  { definition, reply, request, scope }: Call,
  { limit }: PageQuery,
): Promise<void> {
  const bytes = limit * (sizes.get(definition) ?? FIRST_GUESS);
  if (bytes <= SMALL) return;
  const slot = await request.platform.streamSlots.largePage({ request, reply }, bytes);
  if (rawOf(reply).destroyed) slot.leave();
  whenClosed(rawOf(reply), () => slot.leave());
  scope.context.pageSlot = slot;
}

/** Records how much memory a page really takes, and returns whether it is too large to be sent as a whole. */
function isLarge({ definition, scope }: Call, records: readonly object[]): boolean {
  const { context } = scope;
  const bytes = records.reduce((sum, record) => sum + bytesOf(record), 0);
  context.pageSlot?.resize(bytes);
  // The size of partial records tells nothing about whole ones.
  if (records.length > 0 && !context.query?.fields)
    sizes.set(definition, followSize(sizes.get(definition), bytes / records.length));
  return bytes > SMALL;
}
