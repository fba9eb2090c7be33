import { setTimeout as pause } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { mongo } from 'mongoose';
import { Database, withDeadline } from '../../database/index.js';
import { DatabaseTooSlowError, WriteConflictError } from '../../errors/index.js';
import { FairShare, ownerAt } from '../../http/index.js';
import type { TenantScope } from '../../tenancy/index.js';
import { CrudRegistry } from './crud-resource.js';
import { assertWithin, causesOf, UnitOfWork } from './unit-of-work.js';

/** How long a unit may take, its repetitions included, before its commit. Unit: milliseconds. */
const LIMIT_MS = 4_500;

/** How long its commit may take after that, and how much earlier than its request a unit ends. Unit: milliseconds. */
const COMMIT_MS = 200;
const MARGIN_MS = 300;

/** Longest pause before a unit is repeated for the first time, and ever, so that others do not meet it again. Unit: milliseconds. */
const PAUSE_MS = 10;
const MAX_PAUSE_MS = 320;

/** Units of a tenant are repeated one after another, or they would meet again and again. */
const REPEATED = { maxInAll: Infinity, maxPerClient: 1 };

/** How long the end of an attempt waits for operations that are under way. Unit: milliseconds. */
const SETTLE_MS = 300;

/** Carries out units of work. Needs a replica set, or the embedded database. */
@Injectable()
export class Crud {
  private readonly repeated = new FairShare(REPEATED);

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
    const { unit: outer } = scope.context;
    const inside = async () => work(scope);
    if (outer) return inside().catch((error: Error) => Promise.reject(outer.end(error)));
    const { endsAt = Infinity, reservation } = scope.context;
    const keyed = reservation?.nextUnit();
    const earlier = reservation?.resumed ? await keyed?.result() : undefined;
    if (earlier) return earlier.result as T;
    const end = Math.min(performance.now() + LIMIT_MS, endsAt - MARGIN_MS);
    const turn = this.repeated.slotFor(ownerAt(scope.request?.ip, scope.caller.tenant));
    try {
      for (let attempt = 0; ; attempt++) {
        // Each attempt has its own session, so that no late operation of another one is part of it.
        const session = this.database.startSession();
        const unit = new UnitOfWork(this.database, session, this.registry, scope, keyed?.reservation());
        let result: T;
        try {
          session.startTransaction({ readConcern: { level: 'snapshot' } });
          const stored = async () => {
            const returned = await unit.run(work);
            await keyed?.store(returned, unit.database);
            return returned;
          };
          result = await within(end, stored());
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
