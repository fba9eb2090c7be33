import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import type { StreamableFile, Type } from '@nestjs/common';
import { DatabaseUnavailableError, DomainError } from '../../errors/index.js';
import { nextTimeSlice } from '../../http/index.js';
import { contextOf } from '../../request/index.js';
import { unrestrictedScope } from '../../tenancy/index.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import { hasMiddleware, hasOwnValidators } from '../schema/schema-paths.js';
import { isGenerated, metadataOf } from '../pipeline/plan.js';
import { fileOf } from '../pipeline/record-stream.js';
import type { ItemKind } from '../routes/routes.js';
import { CrudService } from '../service/crud.service.js';
import { type ItemResult, type Items, writeOrder, type WriteTurn } from './items.js';
import type { BulkRequest, Operation } from './operation.js';

/** The response to a bulk request. */
export interface BulkResults {
  /** Whether all operations of an atomic request were carried out, or none. */
  readonly committed?: boolean;
  readonly results: readonly ItemResult[];
}

/** How long a response waits for its results before it begins without them. Unit: milliseconds. */
const PATIENCE_MS = 4_000;

/** Carries out a bulk request. Its response has the results or, if they take long, is a stream of the same JSON. */
export async function bulkResponse(
  { operations, atomic }: BulkRequest,
  items: Items,
  service: AnyService,
): Promise<BulkResults | StreamableFile> {
  const carriedOut = async (): Promise<BulkResults> => {
    const bulk = atomic
      ? await carryOutAtomically(operations, items, service)
      : { results: await carryOut(operations, items, service) };
    // One with a failed item is not stored for its key. When it is repeated, its creates find their records.
    if (bulk.results.some(({ status }) => status >= 500)) contextOf(items.request).exchange?.forget();
    return bulk;
  };
  const results = carriedOut();
  // An atomic one ends in time, or with an error.
  if (atomic) return results;
  const inTime = await Promise.race([results, pause(PATIENCE_MS, undefined, { ref: false })]);
  if (inTime) return inTime;
  async function* json() {
    yield '{\n';
    yield JSON.stringify(await results).slice(1);
  }
  const body = Readable.from(json(), { objectMode: false });
  return fileOf(body, 'application/json; charset=utf-8', items);
}

/** Carries out the operations as a unit of work. */
async function carryOutAtomically(
  operations: readonly Operation[],
  items: Items,
  service: AnyService,
): Promise<BulkResults> {
  const failure = new DomainError('NOT_CARRIED_OUT');
  const { endsAt, reservation } = contextOf(items.request);
  let results: ItemResult[] = [];
  try {
    const scope = unrestrictedScope().with({ endsAt, reservation });
    const committed = await items.request.crudPlatform.streamSlots.atomicBulk(items, () =>
      service.atomically(scope, async ({ context }) => {
        results = await carryOut(operations, items.within(context.unit), service, failure);
        if (results.some(isFailed)) throw failure;
        return results;
      }),
    );
    return { committed: true, results: committed };
  } catch (error) {
    if (!results.some(isFailed) || (error instanceof DomainError && error.status >= 500)) throw error;
  }
  const failed = results.findIndex(isFailed);
  const resultOf = (operation: Operation, i: number) =>
    i === failed ? (results[i] as ItemResult) : items.reject(failure, operation);
  return { committed: false, results: operations.map(resultOf) };
}

function isFailed({ status }: ItemResult): boolean {
  return status >= 400;
}

/**
 * Carries out operations with the same outcome as one after another, and returns the result of each.
 *
 * @param failure what the operations behind one that failed get. @default they are carried out
 */
export async function carryOut(
  operations: Iterable<Operation>,
  items: Items,
  service: AnyService,
  failure?: DomainError,
): Promise<ItemResult[]> {
  const results: ItemResult[] = [];
  const nextTurn = writeOrder();
  // Later operations may build on this one. Once the database is lost, they would only wait for it in vain.
  let lost: DomainError | undefined;
  let started = 0;
  const one = async (operation: Operation, turn: WriteTurn | undefined): Promise<ItemResult> => {
    const number = started++;
    try {
      const error = operation.kind === 'malformed' ? undefined : lost;
      const result = error ? items.reject(error, operation) : await items.carryOut(operation, number, turn);
      if (failure && isFailed(result)) lost ??= failure;
      return result;
    } finally {
      turn?.release();
    }
  };
  const { request, unit } = items;
  let sliceEnds = 0;
  for (const run of runsOf(operations, independence(items.controller, service), unit ? Infinity : MAX_RUN)) {
    await nextTimeSlice();
    const endGroup = unit?.beginGroup();
    const begun = await request.crudPlatform.streamSlots.carryOut(items, run, async (operation) => {
      const turn = unit || operation.kind === 'create' ? nextTurn() : undefined;
      const result = one(operation, turn);
      if (!unit) return { result: await result };
      // The next one begins when the write of this one waits for the command that they share.
      await Promise.race([turn?.released, result]);
      if (performance.now() > sliceEnds) {
        await nextTimeSlice();
        sliceEnds = performance.now() + SLICE_MS;
      }
      return { result };
    });
    endGroup?.();
    const ended = await Promise.all(begun.map(({ result }) => result));
    if (ended.some((result) => result.code === 'DATABASE_UNAVAILABLE'))
      lost ??= new DatabaseUnavailableError();
    results.push(...ended.map((result) => items.sent(result)));
  }
  return results;
}

/** How long operations of a unit of work begin before others have their turn. Unit: milliseconds. */
const SLICE_MS = 2;

/** Maximum number of items carried out at the same time, unless they are one unit of work. Unit: items. */
export const MAX_RUN = 128;

/**
 * Divides operations into runs that have the same outcome concurrently: of one kind, about different records.
 *
 * @param isIndependent whether operations of a kind cannot see or influence each other
 */
function* runsOf(
  operations: Iterable<Operation>,
  isIndependent: (kind: ItemKind) => boolean,
  max: number,
): Generator<Operation[], void, undefined> {
  let run: Operation[] = [];
  let kind: ItemKind | undefined;
  const ids = new Set<string>();
  for (const operation of operations) {
    const id = 'id' in operation ? operation.id.toLowerCase() : undefined;
    const joins =
      operation.kind === 'malformed' ||
      kind === undefined ||
      (kind === operation.kind && isIndependent(kind) && !ids.has(id ?? ''));
    if (!joins || run.length >= max) {
      yield run;
      run = [];
      ids.clear();
    }
    if (operation.kind !== 'malformed') kind = operation.kind;
    if (id !== undefined) ids.add(id);
    run.push(operation);
  }
  if (run.length > 0) yield run;
}

// The verbs are both co- and contravariant, as in AnyCrudOptions.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type AnyService = CrudService<any, any, any>;

/** Tells whether items of a kind may run concurrently. Your own code may depend on what earlier items have done. */
function independence(controller: Type<object>, service: AnyService): (kind: ItemKind) => boolean {
  const { definition } = metadataOf(controller);
  const { hooks, routes, schema } = definition;
  const hasHooks = typeof hooks === 'function' || Object.values(hooks).some((hook) => hook !== undefined);
  const isPlain = isGenerated(controller) && !hasHooks && !hasMiddleware(schema) && !hasOwnValidators(schema);
  return (kind) => {
    const { guards = [], decorators = [] } = routes[kind] ?? {};
    const isOwn = guards.length + decorators.length > 0 || service[kind] !== CrudService.prototype[kind];
    return isPlain && !isOwn && !meet(kind, definition, service);
  };
}

/** Whether writes to different records can conflict: through a unique index, or through references between them. */
function meet(kind: ItemKind, definition: CrudDefinition, service: AnyService): boolean {
  // Concurrent creates are stored in the order of their slots.
  if (kind === 'create') return false;
  if (kind === 'del') return service['resource'].store.isReferredTo();
  const { entity, references, schema } = definition;
  const isUnique = schema.indexes().some(([, options]) => options.unique === true);
  return isUnique || references.some(({ to }) => to === entity);
}
