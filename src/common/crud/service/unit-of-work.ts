import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { mongo } from 'mongoose';
import { Database, withDeadline } from '../../database/index.js';
import { DatabaseTooSlowError, WriteConflictError } from '../../errors/index.js';
import { FairShare, ownerAt } from '../../http/index.js';
import type { Reservation } from '../../idempotency/index.js';
import { assertScope, type TenantScope } from '../../tenancy/index.js';
import { CrudRegistry, type CrudResource, type Resources } from './crud-resource.js';

declare module '../../request/index.js' {
  interface RequestContext {
    /** The unit of work that the verbs of this scope are part of. */
    unit?: UnitOfWork;
  }
}

/** How long a unit may take, its repetitions included, before its commit. Unit: milliseconds. */
const LIMIT_MS = 4_500;

/** How long its commit may take after that, and how much earlier than its request a unit ends. Unit: milliseconds. */
const COMMIT_MS = 200;
const MARGIN_MS = 300;

/** Longest pause before a unit is repeated for the first time, and ever, so that others do not meet it again. Unit: milliseconds. */
const PAUSE_MS = 10;
const MAX_PAUSE_MS = 320;

/** How long the end of an attempt waits for operations that are under way. Unit: milliseconds. */
const SETTLE_MS = 300;

/** The unit that the running code is part of. */
export const currentUnit = new AsyncLocalStorage<UnitOfWork>();

/** The unit that the running code is an operation of. */
const operating = new AsyncLocalStorage<UnitOfWork>();

/** One attempt to carry out a unit of work: a transaction, and what follows once it is committed. */
export class UnitOfWork {
  /** The database, for operations in the transaction. */
  readonly database: Database;
  /** The resources, with stores in the transaction. */
  readonly resources: Resources;
  private readonly known = new Map<CrudResource, CrudResource>();
  private readonly tasks: (() => unknown)[] = [];
  private last: Promise<unknown> = Promise.resolve();
  private group: Promise<void> | undefined;
  /** What has ended the transaction: an error of the database, the time limit, or its end. */
  ended: unknown;

  /** @param keyed its reservation and result, if its request has an idempotency key */
  constructor(
    database: Database,
    session: mongo.ClientSession,
    registry: Resources,
    private readonly outer: TenantScope,
    private readonly keyed: ReturnType<Reservation['nextUnit']> | undefined,
  ) {
    this.database = database.within(
      session,
      (operation) => this.take(operation),
      () => this.group,
    );
    this.resources = {
      of: (entity) => this.of(registry.of(entity)),
      referrersOf: (entity) =>
        registry.referrersOf(entity).map((one) => ({ ...one, resource: this.of(one.resource) })),
    };
  }

  /** A resource whose store is in the transaction. */
  of(resource: CrudResource): CrudResource {
    const known = this.known.get(resource) ?? resource.within(this);
    this.known.set(resource, known);
    return known;
  }

  /** Has something done once the transaction is committed. */
  readonly afterCommit = (task: () => unknown): void => void this.tasks.push(task);

  /** Has writes that can share a command wait for each other, until the returned function is called. */
  beginGroup(): () => void {
    let end: () => void = () => undefined;
    this.group = new Promise((resolve) => (end = resolve));
    return () => {
      this.group = undefined;
      end();
    };
  }

  /** Runs the function, and stores what it returns if its request has a key. @throws what it throws, or the error that has ended the transaction */
  async run<T>(work: (scope: TenantScope) => Promise<T>): Promise<T> {
    const { keyed, outer } = this;
    const scope = outer.with({ unit: this, reservation: keyed?.reservation() });
    const result = await currentUnit.run(this, () => work(scope));
    await this.settled();
    if (this.ended !== undefined) throw this.ended;
    await keyed?.store(result, this.database);
    this.afterCommit(() => (outer.context.precondition = scope.context.precondition));
    return result;
  }

  /** Resolves when no operation is under way. */
  async settled(): Promise<void> {
    for (let last: Promise<unknown> | undefined; last !== this.last;) {
      last = this.last;
      await last;
    }
  }

  /** @param reason what verbs that are called from now on throw */
  end<T>(reason: T): T {
    this.ended ??= reason;
    return reason;
  }

  /** Has verbs throw an error that has ended the transaction in the words of the verb that met it. */
  reword(error: unknown, told: unknown): void {
    if (this.ended === error) this.ended = told;
  }

  /** Does what was to be done after the commit, in that order. */
  async finish(): Promise<void> {
    await currentUnit.exit(() => Promise.all(this.tasks.map((task) => task())));
  }

  /** A transaction takes its operations one after another, and none after one that the database rejected. */
  private take<T>(operation: () => Promise<T>): Promise<T> {
    // An operation may consist of several.
    if (operating.getStore() === this)
      return this.ended === undefined ? operation() : Promise.reject(this.ended as Error);
    const done = this.last.then(async () => {
      if (this.ended !== undefined) throw this.ended;
      try {
        return await operating.run(this, operation);
      } catch (error) {
        if (causesOf(error).some((cause) => cause instanceof mongo.MongoError)) this.end(error);
        throw error;
      }
    });
    this.last = done.catch(() => undefined);
    return done;
  }
}

/** @throws Error if a scope does not belong to the unit of work that the running code is part of, if any */
export function assertWithin(scope: TenantScope): void {
  assertScope(scope);
  const { unit } = scope.context;
  const running = currentUnit.getStore();
  if (running === unit) return;
  throw new Error(
    running
      ? 'A verb was called with a scope of outside inside a unit of work. Pass the scope that the function of atomically() gets.'
      : 'A verb was called with the scope of a unit of work that is over. Call it inside the function of atomically(), and await it there.',
  );
}

/** Carries out units of work. Needs a replica set, or the embedded database. */
@Injectable()
export class Crud {
  /** Units of a tenant are repeated one after another, or they would meet again and again. */
  private readonly repeated = new FairShare({ maxInAll: Infinity, maxPerClient: 1 });

  constructor(
    private readonly database: Database,
    private readonly registry: CrudRegistry,
  ) {}

  /**
   * Carries out a unit of work: writes of any resources that happen all at once, or not at all.
   *
   * ```ts
   * await crud.atomically(scope, async (work) => {
   *   await accounts.update(work, from, { balance: balance - amount });
   *   await entries.create(work, { from, to, amount });
   * });
   * ```
   *
   * Verbs that get `work` in place of the scope are part of it; reads with it see its writes. When the function
   * returns, everything is there at once, and hooks and events that follow writes come after that. When it throws,
   * nothing was ever there. A verb that the database rejects, such as a duplicate, ends the unit. Inside the function,
   * verbs with another scope throw. A unit inside of another one is part of that, and what it throws ends both.
   *
   * @param work may run again, since others may change what it has read: it should do nothing but call verbs
   * @throws DomainError `TRANSACTIONS_UNAVAILABLE` if the database is a standalone server
   * @throws DatabaseTooSlowError if the unit takes longer than 4.5 seconds, as when others were faster all the time
   */
  async atomically<T>(scope: TenantScope, work: (scope: TenantScope) => Promise<T>): Promise<T> {
    assertWithin(scope);
    const { unit: outer, endsAt = Infinity, reservation } = scope.context;
    const inside = async () => work(scope);
    if (outer) return inside().catch((error: Error) => Promise.reject(outer.end(error)));
    const keyed = reservation?.nextUnit();
    const earlier = reservation?.resumed ? await keyed?.result() : undefined;
    if (earlier) return earlier.result as T;
    const end = Math.min(performance.now() + LIMIT_MS, endsAt - MARGIN_MS);
    const turn = this.repeated.slotFor(ownerAt(scope.request?.ip, scope.caller.tenant));
    try {
      for (let attempt = 0; ; attempt++) {
        // Each attempt has its own session, so that no late operation of another one is part of it.
        const session = this.database.startSession();
        const unit = new UnitOfWork(this.database, session, this.registry, scope, keyed);
        let result: T;
        try {
          session.startTransaction({ readConcern: { level: 'snapshot' } });
          result = await within(end, unit.run(work));
          unit.end(new Error('The unit of work is over.'));
          await within(end + COMMIT_MS, this.commit(session, end));
        } catch (thrown) {
          unit.end(thrown);
          // Not earlier: the driver aborts nothing before the first operation is answered.
          const aborted = unit.settled().then(() => session.abortTransaction());
          const over = aborted.catch(() => undefined).then(() => session.endSession());
          await Promise.race([over, pause(SETTLE_MS)]);
          // Another attempt may have committed it, or this one without a response.
          const done = await keyed?.result().catch(() => undefined);
          if (done) return done.result as T;
          // The function may have made an error of its own out of a conflict.
          const error = isPassing(unit.ended) ? unit.ended : thrown;
          if (!isPassing(error)) throw error;
          const longest = Math.min(PAUSE_MS * 2 ** attempt, MAX_PAUSE_MS);
          if (performance.now() + longest >= end) throw new DatabaseTooSlowError({ cause: error });
          await pause(Math.random() * longest);
          if (attempt === 0) await within(end, new Promise<void>((resolve) => turn.take(resolve)));
          continue;
        }
        await session.endSession();
        turn.leave();
        await unit.finish();
        return result;
      }
    } finally {
      turn.leave();
    }
  }

  private async commit(session: mongo.ClientSession, end: number): Promise<void> {
    for (;;) {
      try {
        return await this.database.call(() => session.commitTransaction());
      } catch (error) {
        if (!hasLabel(error, 'UnknownTransactionCommitResult') || performance.now() >= end) throw error;
      }
    }
  }
}

/** @throws DatabaseTooSlowError if it takes longer */
function within<T>(end: number, work: Promise<T>): Promise<T> {
  return withDeadline(work, end - performance.now(), () => new DatabaseTooSlowError());
}

/** Whether a unit may succeed if it is repeated. */
function isPassing(error: unknown): boolean {
  return error instanceof WriteConflictError || hasLabel(error, 'TransientTransactionError');
}

function hasLabel(error: unknown, label: string): boolean {
  return causesOf(error).some((cause) => cause instanceof mongo.MongoError && cause.hasErrorLabel(label));
}

/** An error and the errors that it was caused by. */
function causesOf(error: unknown): unknown[] {
  return error === undefined ? [] : [error, ...causesOf((error as { cause?: unknown } | null)?.cause)];
}
