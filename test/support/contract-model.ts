import mongoose from 'mongoose';
import type { Body, Caller, Operation, Resource, Target } from './contract-operations.js';

const { ObjectId } = mongoose.mongo;

/** What a request must be answered with. */
export interface Prediction {
  status: number;
  body: unknown;
  etag?: string;
  /** The record that the request writes: its timestamps are the service's own choice, to be learnt from it. */
  writes?: ModelRecord;
}

/** A record as clients see it. */
export interface ModelRecord {
  resource: Resource;
  /** Chosen by the service; empty until it has answered. */
  _id: string;
  input: Record<string, unknown>;
  tenant?: string;
  revision: number;
  createdAt?: Date;
  updatedAt?: Date;
  deletedAt?: Date;
  archived: boolean;
  removed: boolean;
}

const PATHS: Record<Resource, string> = { posts: '/posts/api', todos: '/todos' };
const LABELS: Record<Resource, string> = { posts: 'Post', todos: 'Todo' };
const MISSING_ID = '000000000000000000000000';
const MALFORMED_ID = '[$ne]=1';

/** The rules that sequences of operations can break, without a database: arrays and plain conditions. */
export class ContractModel {
  /** In the order of creation, removed ones included. */
  readonly records: Record<Resource, ModelRecord[]> = { posts: [], todos: [] };
  /** The posts as each write left them: what subscribers are told. */
  readonly notified: { type: string; tenant?: string; data: object }[] = [];

  constructor(private readonly todosForm: string) {}

  /** The path and query of an operation. */
  pathOf(operation: Operation): string {
    const base = PATHS[operation.resource];
    switch (operation.action) {
      case 'count':
        return `${base}/count`;
      case 'page':
        return `${base}?${pageQuery(operation)}`;
      case 'get':
      case 'update':
      case 'del':
        return `${base}/${encodeURIComponent(this.idOf(operation.target))}`;
      default:
        return base;
    }
  }

  /** Says how an operation must be answered, and carries it out on the model. */
  predict(operation: Operation): Prediction {
    const { resource, caller } = operation;
    const instance = this.pathOf(operation).split('?', 1)[0] ?? '';
    const writes = ['create', 'update', 'del'].includes(operation.action);
    if (resource === 'posts' && writes && caller === undefined) return unauthenticated(instance);
    switch (operation.action) {
      case 'create':
        return operation.body.fault
          ? invalid(operation.body.fault, instance)
          : this.create(resource, caller, operation.body, operation.prefersRecord);
      case 'list':
        return { status: 200, body: this.visible(resource).map(present) };
      case 'count':
        // The hand-written form has no count: the word is taken for an id.
        return resource === 'todos' && this.todosForm === 'handwritten'
          ? invalidId(instance)
          : { status: 200, body: { count: this.visible(resource).length } };
      case 'page':
        return operation.offset === undefined && operation.limit === undefined
          ? { status: 200, body: this.visible(resource).map(present) }
          : this.page(resource, operation, instance);
      default:
        return this.single(operation, instance);
    }
  }

  /** What the collection of a resource must hold, in the order of creation. */
  stored(resource: Resource): object[] {
    return this.records[resource]
      .filter((record) => !record.removed)
      .map((record) => ({
        _id: new ObjectId(record._id),
        ...record.input,
        ...(typeof record.input.dueAt === 'string' && { dueAt: new Date(record.input.dueAt) }),
        ...(record.tenant !== undefined && { tenant: new ObjectId(record.tenant) }),
        createdAt: record.createdAt,
        updatedAt: record.updatedAt,
        ...(record.archived && { deletedAt: record.deletedAt }),
        __v: record.revision,
      }));
  }

  private create(resource: Resource, caller: Caller, body: Body, prefersRecord: boolean): Prediction {
    const record: ModelRecord = {
      resource,
      _id: '',
      input: { ...DEFAULTS[resource], ...(body.json as object) },
      ...(resource === 'posts' && { tenant: caller }),
      revision: 0,
      archived: false,
      removed: false,
    };
    this.records[resource].push(record);
    const expected = prefersRecord ? () => present(record) : () => ({ _id: record._id });
    return {
      status: 201,
      get body() {
        return expected();
      },
      etag: '"0"',
      writes: record,
    };
  }

  private page(resource: Resource, query: { offset?: number; limit?: number }, instance: string): Prediction {
    const { offset = 0, limit = 20 } = query;
    const faults = [
      ...(offset < 0
        ? [{ parameter: 'offset', detail: '"offset" must be a whole number, at least 0.' }]
        : []),
      ...(limit < 1 || limit > 100
        ? [{ parameter: 'limit', detail: '"limit" must be a whole number from 1 to 100.' }]
        : []),
    ];
    if (faults.length > 0) return invalid(faults, instance);
    const all = this.visible(resource);
    const results = all.slice(offset, offset + limit).map(present);
    if (resource === 'todos' && this.todosForm === 'handwritten')
      return { status: 200, body: { results, count: all.length } };
    const cursorIf = (isThere: boolean): unknown => (isThere ? expect.any(String) : null);
    return {
      status: 200,
      body: {
        results,
        count: all.length,
        next: cursorIf(offset + limit < all.length),
        prev: cursorIf(offset > 0 && all.length > 0),
      },
    };
  }

  private single(
    operation: Extract<Operation, { action: 'get' | 'update' | 'del' }>,
    instance: string,
  ): Prediction {
    const { action, resource, caller, target } = operation;
    const body = 'body' in operation ? operation.body : undefined;
    if (target === 'malformed') return invalidId(instance);
    if (body?.fault) return invalid(body.fault, instance);
    const id = this.idOf(target);
    const record = this.records[resource].find(({ _id, removed }) => _id === id && !removed);
    if (action === 'get') {
      return record && !record.archived
        ? { status: 200, body: present(record), etag: `"${record.revision}"` }
        : notFound(resource, instance);
    }
    const own = record && (resource === 'todos' || record.tenant === caller) ? record : undefined;
    if (action === 'del') return resource === 'posts' ? archive(own) : remove(own, instance);
    return own && !own.archived
      ? update(own, body?.json as Record<string, unknown>)
      : notFound(resource, instance);
  }

  /** Newest first, without the archived. */
  private visible(resource: Resource): ModelRecord[] {
    return this.records[resource].filter(({ archived, removed }) => !archived && !removed).reverse();
  }

  private idOf(target: Target): string {
    if (target === 'malformed') return MALFORMED_ID;
    if (target === 'missing') return MISSING_ID;
    return this.records[target.resource][target.index]?._id ?? MISSING_ID;
  }
}

/** A record as clients see it. */
export function present(record: ModelRecord): object {
  return {
    _id: record._id,
    ...record.input,
    ...(record.tenant !== undefined && { tenant: record.tenant }),
    createdAt: record.createdAt?.toISOString(),
    updatedAt: record.updatedAt?.toISOString(),
  };
}

/** Values of the fields that a create leaves out, and that null gives back. */
const DEFAULTS = { posts: {}, todos: { completed: false } };

function update(record: ModelRecord, changes: Record<string, unknown>): Prediction {
  const answer = { status: 200, body: { updated: true } };
  if (Object.keys(changes).length === 0) return answer;
  const merged = Object.entries({ ...record.input, ...changes }).filter(([, value]) => value !== null);
  record.input = { ...DEFAULTS[record.resource], ...Object.fromEntries(merged) };
  record.revision += 1;
  return { ...answer, writes: record };
}

function archive(record: ModelRecord | undefined): Prediction {
  const answer = { status: 200, body: { archived: true } };
  if (!record) return answer;
  record.archived = true;
  record.revision += 1;
  return { ...answer, writes: record };
}

function remove(record: ModelRecord | undefined, instance: string): Prediction {
  if (!record) return notFound('todos', instance);
  record.removed = true;
  return { status: 200, body: { deleted: true } };
}

function pageQuery({ offset, limit }: { offset?: number; limit?: number }): URLSearchParams {
  return new URLSearchParams({
    ...(offset !== undefined && { offset: String(offset) }),
    ...(limit !== undefined && { limit: String(limit) }),
  });
}

type Fault = { pointer: string; detail: string } | { parameter: string; detail: string };

function problem(
  status: number,
  code: string,
  title: string,
  detail: string,
  instance: string,
  errors?: Fault[],
) {
  const type = `urn:problem:${code.toLowerCase().replaceAll('_', '-')}`;
  const common = { type, title, status, detail, instance, code, message: detail };
  return { status, body: { ...common, requestId: expect.any(String) as unknown, ...(errors && { errors }) } };
}

function invalid(faults: Fault | Fault[], instance: string): Prediction {
  const errors = [faults].flat();
  const detail =
    errors.length === 1
      ? `The request is not valid: ${errors[0]?.detail}`
      : `The request has ${errors.length} faults; the first: ${errors[0]?.detail}`;
  return problem(400, 'VALIDATION_FAILED', 'Validation failed', detail, instance, errors);
}

function invalidId(instance: string): Prediction {
  const detail = 'The id must be 24 hexadecimal digits.';
  return problem(400, 'INVALID_ID', 'Invalid identifier', detail, instance, [{ parameter: 'id', detail }]);
}

function notFound(resource: Resource, instance: string): Prediction {
  return problem(404, 'RECORD_NOT_FOUND', 'Record not found', `${LABELS[resource]} not found`, instance);
}

function unauthenticated(instance: string): Prediction {
  const detail = 'This operation needs a token: send "Authorization: Bearer <token>".';
  return problem(401, 'UNAUTHENTICATED', 'Authentication required', detail, instance);
}
