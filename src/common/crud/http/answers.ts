import { StreamableFile } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Types } from 'mongoose';
import { pathOf } from '../../errors/index.js';
import { isPlainObject } from '../../fields/index.js';
import type { TenantContext } from '../../tenancy/index.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import { plain } from '../definition/plain.js';
import type { Stored } from '../options/records.js';
import { Page } from '../query/page.js';
import { project } from '../query/read-fields.js';
import type { AnswerKind, Route } from '../routes/routes.js';
import { etagOf, isKnown, readEntityTags } from '../definition/entity-tags.js';
import { streamJsonArray } from './json-array.stream.js';
import { prefersRepresentation } from './prefer.js';

/** What each kind of handler gives, in the store's terms. */
interface Results {
  create: Stored<object>;
  list: AsyncIterable<Stored<object>> | Page<Stored<object>>;
  count: number;
  get: Stored<object>;
  update: Stored<object>;
  del: Stored<object>;
  archive: Stored<object>;
  restore: Stored<object>;
  own: unknown;
}

/** What an answer is made with. */
export interface AnswerContext {
  readonly definition: CrudDefinition;
  readonly route: Route | undefined;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly caller: TenantContext;
}

type Answer<Kind extends AnswerKind> = (result: Results[Kind], context: AnswerContext) => unknown;

/** The one place that says what each answer looks like, its body and its headers. */
const ANSWERS: { readonly [Kind in AnswerKind]: Answer<Kind> } = {
  create: (record, context) => {
    const { request, reply } = context;
    const _id = record._id.toHexString();
    reply.headers({ Location: `${pathOf(request)}/${_id}`, ETag: etagOf(record), Vary: 'Prefer' });
    if (!prefersRepresentation(request.headers.prefer)) return { _id };
    reply.header('Preference-Applied', 'return=representation');
    return show(record, context);
  },
  list: (result, context) => {
    if (!(result instanceof Page)) return stream(result, context);
    const { archived } = context.request.crudQuery ?? {};
    context.reply.header('Link', result.links(pathOf(context.request), archived && { archived }));
    return { results: result.results.map((record) => show(record, context)), count: result.count };
  },
  count: (count) => ({ count }),
  get: (record, context) => {
    const { reply, request } = context;
    reply.header('ETag', etagOf(record));
    if (!isKnown(readEntityTags('If-None-Match', request.headers['if-none-match']), record))
      return show(record, context);
    reply.code(304);
    return undefined;
  },
  update: (record, context) => {
    const { request, reply } = context;
    reply.header('Vary', 'Prefer');
    if (!prefersRepresentation(request.headers.prefer)) return { updated: true };
    reply.headers({ ETag: etagOf(record), 'Preference-Applied': 'return=representation' });
    return show(record, context);
  },
  del: () => ({ deleted: true }),
  archive: () => ({ archived: true }),
  restore: () => ({ restored: true }),
  own: (result, context) => showAny(result, context),
};

/** Whether a result is what the answers of a kind are made of. */
const FITS: { readonly [Kind in AnswerKind]?: (result: unknown) => boolean } = {
  create: isRecord,
  get: isRecord,
  list: (result) => result instanceof Page || isAsyncIterable(result),
  count: (result) => typeof result === 'number',
};

/** Turns what a handler returned into what the client gets. */
export function answer(result: unknown, context: AnswerContext): unknown {
  const kind = context.route?.answer ?? 'own';
  // An interceptor of the feature's own may have wrapped the result.
  return (ANSWERS[FITS[kind]?.(result) === false ? 'own' : kind] as Answer<'own'>)(result, context);
}

function show(record: Stored<object>, { definition, request, caller }: AnswerContext): object {
  return project(definition.present(record, caller), request.crudQuery?.fields);
}

async function stream(records: AsyncIterable<Stored<object>>, context: AnswerContext) {
  const body = await streamJsonArray(records, (record) => show(record, context));
  return new StreamableFile(body, { type: 'application/json; charset=utf-8' });
}

/** A feature's own answer: records are shown as everywhere, other values as JSON should carry them. */
function showAny(result: unknown, context: AnswerContext): unknown {
  if (typeof result !== 'object' || result === null || result instanceof StreamableFile) return result;
  if (result instanceof Page) return ANSWERS.list(result as Page<Stored<object>>, context);
  if (Array.isArray(result)) return result.map((entry) => showAny(entry, context));
  if (isAsyncIterable(result)) return stream(result as AsyncIterable<Stored<object>>, context);
  const response = context.route?.response ?? context.definition.entity;
  if (response === context.definition.entity && isRecord(result)) return show(result, context);
  return plain(withoutRevisions(result));
}

/** Records inside of other values keep what the feature shows of them, without their revision, which is for ETags only. */
function withoutRevisions(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutRevisions);
  if (value instanceof Map) return new Map([...value].map(([key, entry]) => [key, withoutRevisions(entry)]));
  if (!isPlainObject(value)) return value;
  const members = Object.entries(value).filter(([name]) => name !== '__v' || !isRecord(value));
  return Object.fromEntries(members.map(([name, member]) => [name, withoutRevisions(member)]));
}

function isRecord(value: unknown): value is Stored<object> {
  return typeof value === 'object' && value !== null && '_id' in value && value._id instanceof Types.ObjectId;
}

function isAsyncIterable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}
