import { setImmediate as nextTurn } from 'node:timers/promises';
import { Types } from 'mongoose';
import type { Problem } from '../../errors/index.js';
import { isPlainObject } from '../../fields/index.js';
import { isOfSameClaims, type Replay } from '../../idempotency/index.js';
import type { BulkResults } from '../batch/carry-out.js';
import { type ItemResult, Items, partsOf } from '../batch/items.js';
import { readOperations } from '../batch/operation.js';
import { hiddenFrom } from '../definition/field-rules.js';
import { isShownByCaller } from '../definition/output.js';
import { itemRouteOf } from '../routes/routes.js';
import { isReadable } from '../service/readable-records.js';
import type { Call } from './crud.interceptor.js';
import { metadataOf } from './plan.js';
import { isGuarded, rejectionOf } from './route-guards.js';

/**
 * The part of a stored response that the guards let the sender of a repeated request have now: a key belongs to a tenant
 * and its subject, whose rights may be others by then.
 */
export async function permittedPart(stored: Replay, call: Call): Promise<Replay> {
  if (call.route?.kind === 'create') return createPart(stored, call);
  return call.route?.kind === 'bulk' ? bulkPart(stored, call) : readablePart(stored, call);
}

/** Without the fields that the sender may not read. */
function readablePart(stored: Replay, { definition, scope }: Call): Replay {
  const hidden = hiddenFrom(definition.fieldRules, scope.caller);
  const type = new Map(stored.headers).get('content-type');
  if (hidden.length === 0 || stored.status >= 400 || !type?.startsWith('application/json')) return stored;
  const shown = (name: string, value: unknown) => (hidden.includes(name) ? undefined : value);
  return { ...stored, body: Buffer.from(JSON.stringify(JSON.parse(stored.body.toString(), shown))) };
}

/** Without the record, if the sender may not get it, or may see another one in it. */
async function createPart(stored: Replay, call: Call): Promise<Replay> {
  const headers = new Map(stored.headers);
  if (!headers.delete('preference-applied')) return stored;
  const _id = /[0-9a-f]{24}$/.exec(headers.get('location') ?? '')?.[0];
  if (_id !== undefined && (await maySee(_id, stored, call))) return stored;
  return { ...stored, headers: [...headers], body: Buffer.from(JSON.stringify({ _id })) };
}

async function maySee(id: string, stored: Replay, call: Call): Promise<boolean> {
  const { action, definition, request, resource, scope } = call;
  if (isShownByCaller(definition) && !isOfSameClaims(stored, request)) return false;
  const { parent } = definition;
  const above = parent && { [parent.field]: scope.params[parent.param] };
  return isReadable(resource, scope, action, { _id: new Types.ObjectId(id), ...above });
}

/** With a rejection in place of the result of each item that the guards of its own route reject. */
async function bulkPart(stored: Replay, { controller, reply, request }: Call): Promise<Replay> {
  // If the operations are read already, this request has just carried them out, guards included.
  if (stored.status >= 400 || !isPlainObject(request.body)) return stored;
  const items = new Items(request, reply, controller);
  const rejections = new Map<number, ItemResult>();
  for (const [number, operation] of readOperations(request.body).operations.entries()) {
    const { kind } = operation;
    const route = kind === 'malformed' ? undefined : itemRouteOf(metadataOf(controller), kind);
    if (!route || !isGuarded(controller, route, request)) continue;
    await nextTurn();
    const rejection = await rejectionOf(controller, route, partsOf(operation, request), request);
    const problem = rejection?.body as Problem | undefined;
    if (rejection)
      rejections.set(number, problem?.code ? items.sent(problem) : { status: 403, code: 'FORBIDDEN' });
  }
  if (rejections.size === 0) return stored;
  const bulk = JSON.parse(stored.body.toString()) as BulkResults;
  const results = bulk.results.map((result, number) => rejections.get(number) ?? result);
  return { ...stored, body: Buffer.from(JSON.stringify({ ...bulk, results })) };
}
