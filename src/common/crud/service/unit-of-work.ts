import { AsyncLocalStorage } from 'node:async_hooks';
import { mongo } from 'mongoose';
import type { Database } from '../../database/index.js';
import type { Reservation } from '../../idempotency/index.js';
import { assertScope, type TenantScope } from '../../tenancy/index.js';
import type { CrudResource, Resources } from './crud-resource.js';

declare module '../../request/index.js' {
  interface RequestContext {
    /** The unit of work that the verbs of this scope are part of. */
    unit?: UnitOfWork;
  }
}

/** The unit that the running code is part of. */
const current = new AsyncLocalStorage<UnitOfWork>();

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

  /** @param reservation of the identifiers of its records, if its request has an idempotency key */
  constructor(
    database: Database,
    session: mongo.ClientSession,
    registry: Resources,
    private readonly outer: TenantScope,
    private readonly reservation: Reservation | undefined,
  ) {
    this.database = database.within(
      session,
      (operation) => this.take(operation),
      () => this.group,
    );
    this.resources = {
      of: (entity) => this.of(registry.of(entity)),
      referrersOf: (entity) =>
        registry.referrersOf(entity).map(({ resource, reference }) => ({
          resource: this.of(resource),
          reference,
        })),
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

  /** Runs the function. @throws what it throws, or the error that has ended the transaction */
  async run<T>(work: (scope: TenantScope) => Promise<T>): Promise<T> {
    const { outer, reservation } = this;
    const scope = outer.with({ unit: this, reservation });
    const result = await current.run(this, () => work(scope));
    await this.settled();
    if (this.ended !== undefined) throw this.ended;
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
    await current.exit(() => Promise.all(this.tasks.map((task) => task())));
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
  const running = current.getStore();
  if (running === unit) return;
  throw new Error(
    running
      ? 'A verb was called with a scope of outside inside a unit of work. Pass the scope that the function of atomically() gets.'
      : 'A verb was called with the scope of a unit of work that is over. Call it inside the function of atomically(), and await it there.',
  );
}

/** The unit that the running code is part of. */
export function currentUnit(): UnitOfWork | undefined {
  return current.getStore();
}

/** An error and the errors that it was caused by. */
export function causesOf(error: unknown): unknown[] {
  return error === undefined ? [] : [error, ...causesOf((error as { cause?: unknown } | null)?.cause)];
}
