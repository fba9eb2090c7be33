import { Readable } from 'node:stream';
import { RequestMethod, StreamableFile } from '@nestjs/common';
import { Types } from 'mongoose';
import { pathOf } from '../../errors/index.js';
import { NDJSON_TYPE, type PageSlot, preferredType, queryOf, type Slot, varyBy } from '../../http/index.js';
import { rawOf, whenClosed } from '../../request/index.js';
import { etagOf, isKnown, isReadBy, readEntityTags } from '../definition/entity-tags.js';
import { plain } from '../definition/output.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import { hiddenFrom } from '../definition/field-rules.js';
import type { Stored } from '../options/records.js';
import type { PageQuery } from '../query/list-query.js';
import { pageIn, recordsOf } from '../query/pages.js';
import { project } from '../query/read-query.js';
import { returnsRecord, Shape, TAKES_QUERY } from '../routes/routes.js';
import { expand, isReadable } from '../service/readable-records.js';
import { bytesOf, followSize } from '../store/shared-reads.js';
import {
  fileOf,
  type Framing,
  inBatches,
  JSON_ARRAY,
  NDJSON,
  pageFraming,
  streamRecords,
} from './record-stream.js';
import { CSV_TYPE, csvOf } from './csv.js';
import type { Call } from './crud.interceptor.js';

/** Turns a handler's result into the response: its body and its headers. */
export function respond(result: unknown, call: Call): unknown {
  switch (call.route?.kind) {
    case 'create':
      if (isRecord(result)) return created(result, call);
      break;
    case 'list':
      if (pageIn(result) ?? isAsyncIterable(result)) return list(result, call);
      break;
    case 'get':
      if (isRecord(result)) return got(result, call);
      break;
    case 'count':
      if (typeof result === 'number') return { count: result };
      break;
    case 'update':
      return updated(result as Stored<object>, call);
    case 'del':
      return { deleted: true };
    case 'archive':
      return { archived: true };
    case 'restore':
      return { restored: true };
    case 'bulk':
    case 'import':
      return result;
  }
  // That of your own route, or one that your own interceptor has wrapped.
  return own(result, call);
}

async function created(record: Stored<object>, call: Call): Promise<object> {
  const { onceFields, request, reply } = call;
  const _id = record._id.toHexString();
  reply.header('Location', `${pathOf(request).replace(/\/$/, '')}/${_id}`);
  reply.header('ETag', etagOf(record));
  // The hidden fields that a create shows once, and that its handler has set.
  const values = record as unknown as Record<string, unknown>;
  const names = onceFields.filter((name) => values[name] !== undefined);
  const once = Object.fromEntries(names.map((name) => [name, plain(values[name])]));
  return { ...((await preferred(record, call)) ?? { _id }), ...once };
}

/** A page, or a stream of every record. */
async function list(result: unknown, call: Call): Promise<unknown> {
  const { definition, reply, request, route, scope } = call;
  const framing = framingOf(call);
  // RFC 10008, section 3
  if (route?.kind === 'list' && TAKES_QUERY) reply.header('Accept-Query', '"application/json"');
  const page = pageIn(result);
  if (!page) {
    const records = result as AsyncIterable<Stored<object>>;
    return file(
      inBatches(records, (batch) => showAll(batch, call)),
      call,
      framing,
    );
  }
  // A URL cannot say what a body does.
  const links = route?.body === 'query' ? '' : page.links(pathOf(request), queryOf(request));
  if (links !== '') reply.header('Link', links);
  const { count, cursors = { next: null, prev: null } } = page;
  // An output gets a copy, since your own code may change its argument.
  const records = definition.options.output === undefined ? recordsOf(page) : page.results;
  const isStreamed = isLarge(call, records);
  const rest = { ...(count !== undefined && { count }), ...cursors };
  const results = await showAll(records, call);
  const isJson = framing === JSON_ARRAY;
  if (isJson && !isStreamed) return { results, ...rest };
  const slot = (isStreamed && scope.context.pageSlot) || request.crudPlatform.streamSlots.pageSlot(request);
  return file(Readable.from(results), call, isJson ? pageFraming(rest) : framing, slot);
}

async function got(record: Stored<object>, call: Call): Promise<object | undefined> {
  const { reply, request, scope } = call;
  // Read before the header is set, since an error must not carry the tag.
  const tags = readEntityTags('If-None-Match', request.headers['if-none-match']);
  reply.header('ETag', etagOf(record));
  // The tag covers the record only: an expanded record may have changed without it.
  if (isKnown(tags, record) && !scope.context.query?.expand) {
    reply.status(304);
    return undefined;
  }
  return (await showAll([record], call))[0];
}

/** @param record of which what nobody needs may be missing */
async function updated(record: Stored<object>, call: Call): Promise<object> {
  const { action, definition, reply, resource, scope } = call;
  const shown = await preferred(record, call);
  const isRead = () => isReadBy(definition, action) || isReadable(resource, scope, action, record);
  if (shown || (isRecord(record) && (await isRead()))) reply.header('ETag', etagOf(record));
  return shown ?? { updated: true };
}

function own(result: unknown, call: Call): unknown {
  const { definition, reply, route } = call;
  if (result instanceof StreamableFile && typeof route?.response === 'string') {
    const isNamed = result.options.type ?? reply.getHeader('content-type');
    if (isNamed === undefined && !route.response.includes('*')) reply.header('Content-Type', route.response);
  }
  if (!route || !returnsRecord(route, definition) || !isRecord(result)) return showAny(result, call);
  if (route.method === RequestMethod.GET) return got(result, call);
  reply.header('ETag', etagOf(result));
  return showAny(result, call);
}

function show(record: Stored<object>, { definition, scope }: Call): object {
  return project(definition.present(record, scope.caller), scope.context.query?.fields);
}

/** The record that a write returns, if the client prefers that and may read it. */
async function preferred(record: Stored<object>, call: Call): Promise<object | undefined> {
  const { action, reply, request, resource, scope } = call;
  varyBy(reply, 'Prefer');
  if (!prefersRepresentation(request.headers.prefer)) return undefined;
  if (!(await isReadable(resource, scope, action, record))) return undefined;
  reply.header('Preference-Applied', 'return=representation');
  return show(record, call);
}

/** The records with the fields that the request asks for, and with its expanded references. */
async function showAll(records: readonly Stored<object>[], call: Call): Promise<object[]> {
  const { resource, scope } = call;
  const shown = records.map((record) => show(record, call));
  const references = scope.context.query?.expand;
  if (references) await expand(shown, references, scope, resource.parts.registry);
  return shown;
}

/** A list comes in the type that the client prefers; your own routes send the type that they document. */
function framingOf({ definition, reply, request, route, scope }: Call): Framing {
  if (route?.kind !== 'list') return JSON_ARRAY;
  varyBy(reply, 'Accept');
  const type = preferredType(request.headers.accept, [JSON_ARRAY.type, NDJSON_TYPE, CSV_TYPE]);
  if (type === CSV_TYPE) return csvOf(definition.viewOf?.(scope.caller) ?? definition, scope.context.query);
  return type === NDJSON_TYPE ? NDJSON : JSON_ARRAY;
}

/** @param slot @default one of a whole list */
async function file(
  records: AsyncIterable<object>,
  call: Call,
  framing: Framing,
  slot?: Slot,
): Promise<StreamableFile> {
  const { reply, request } = call;
  const body = await streamRecords(
    records,
    framing,
    slot ?? request.crudPlatform.streamSlots.take('lists', request),
  );
  // An interceptor may send something else in its place.
  if (!slot) whenClosed(rawOf(reply), () => body.destroy());
  return fileOf(body, `${framing.type}; charset=utf-8`, call);
}

/** The response of your own route: records are shown as everywhere else, other values as JSON carries them. */
async function showAny(result: unknown, call: Call): Promise<unknown> {
  if (typeof result !== 'object' || result === null || result instanceof StreamableFile) return result;
  const page = pageIn(result);
  if (page) return list(page, call);
  const { definition, route } = call;
  const response = route?.response instanceof Shape ? route.response.type : route?.response;
  const isShown = (value: unknown) =>
    (response ?? definition.entity) === definition.entity && isRecord(value);
  if (Array.isArray(result)) {
    if (result.every(isShown)) return showAll(result as Stored<object>[], call);
    return Promise.all(result.map((entry) => showAny(entry, call)));
  }
  if (isAsyncIterable(result)) {
    const showEach = (batch: readonly object[]) => showAny(batch, call) as Promise<object[]>;
    return file(inBatches(result as AsyncIterable<object>, showEach), call, JSON_ARRAY);
  }
  if (isShown(result)) return (await showAll([result as Stored<object>], call))[0];
  const isGenerated = route !== undefined && route.kind !== 'own';
  return plain(result, partOf(call, response ? response === definition.entity : isGenerated));
}

/**
 * Shows the records inside of other values: those of the entity as everywhere else, others as your code made them, without
 * the revision, and what the caller may not read of the resource.
 */
function partOf(call: Call, isOfEntity: boolean) {
  const { definition, scope } = call;
  const withheld = ['__v', ...hiddenFrom(definition.fieldRules, scope.caller)];
  const part = (value: object): unknown => {
    if (isAsyncIterable(value))
      throw new Error(
        'An answer has a list inside that is not read yet. Return the list itself, or an array.',
      );
    if (isOfEntity && isRecord(value)) return show(value, call);
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
  const slot = await request.crudPlatform.streamSlots.largePage({ request, reply }, bytes);
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
