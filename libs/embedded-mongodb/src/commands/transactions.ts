import { Binary } from 'bson';
import { toDouble } from '../bson/numbers.js';
import { isNumber } from '../bson/types.js';
import { type CommandError, failure } from '../errors.js';
import type { Store } from '../storage/store.js';
import type { Reply } from '../wire/reply.js';
import type { Command } from './context.js';

/** How long a transaction may be open: all others wait for its end, most of them at most 1.6 s. Unit: milliseconds. */
const defaultLifetimeMs = 1_400;

/** Number of sessions whose last committed transaction is remembered, for a client that repeats a commit. */
const rememberedSessions = 1_000;

/** Tells the client that the whole transaction may be tried again. */
const PASSING = { errorLabels: ['TransientTransactionError'] };

/** The commands that a transaction may contain. */
const allowed = new Set(
  'insert update delete find getMore killCursors findAndModify findandmodify distinct aggregate commitTransaction abortTransaction'.split(
    ' ',
  ),
);

/** A session's transaction. */
interface Identity {
  readonly session: string;
  readonly number: number;
}

/** The open transaction. */
interface OpenTransaction extends Identity {
  /** Connection of its last statement. */
  connectionId: number;
  /** Resolves after the last of its statements, which run one after another. */
  last: Promise<unknown>;
  /** Number of statements that run or wait. */
  statements: number;
  /** Whether it is aborted as soon as no statement runs. */
  isDoomed: boolean;
  readonly timer: NodeJS.Timeout;
}

/** A transaction that is to begin. */
interface Beginning extends Identity {
  readonly connectionId: number;
}

/** What waits for its turn: a command, or a transaction that is to begin. */
interface Waiting {
  /** The transaction that is to begin, if it is one. */
  readonly begins: Beginning | undefined;
  readonly proceed: () => void;
  readonly expire: () => void;
}

/** Carries out a command. */
type Work = () => Promise<Reply> | Reply;

/**
 * Decides when a command runs: many at a time, but a transaction by itself. While one is open, the store holds its
 * changes back and all other commands wait, so that nobody sees half of it. Its end stores them as one, or none.
 *
 * @see https://www.mongodb.com/docs/manual/core/transactions/
 */
export class Transactions {
  private open: OpenTransaction | undefined;
  /** Number of running commands outside of a transaction. */
  private running = 0;
  private readonly waiting: Waiting[] = [];
  /** Numbers of the last committed transactions, by their sessions. */
  private readonly committed = new Map<string, number>();

  /** @param lifetimeMs how long a transaction may be open. Unit: milliseconds. */
  constructor(
    private readonly store: Store,
    private readonly lifetimeMs = defaultLifetimeMs,
  ) {}

  /** Carries out a command when it may run. */
  run(command: Command, work: Work): Promise<Reply> {
    const identity = identityOf(command);
    return identity
      ? this.runInside(identity, command, work)
      : this.runOutside(work, command.pauses.deadline);
  }

  /**
   * Carries out work that belongs to no transaction.
   *
   * @param deadline by `performance.now()`, for the wait
   */
  async runOutside<T>(work: () => Promise<T> | T, deadline = Infinity): Promise<T> {
    await this.turn(deadline, () => this.running++);
    try {
      return await work();
    } finally {
      this.running--;
      this.proceed();
    }
  }

  /** Aborts the open transaction if its client has gone. */
  disconnected(connectionId: number): void {
    if (this.open?.connectionId === connectionId) this.abort(this.open);
    this.forget((one) => one.connectionId === connectionId);
  }

  private async runInside(identity: Identity, command: Command, work: Work): Promise<Reply> {
    if (command.name === 'commitTransaction' && this.committed.get(identity.session) === identity.number)
      return new Map();
    if (command.flag('startTransaction')) await this.begin(identity, command);
    else if (command.name === 'abortTransaction') this.forget((one) => isSame(one, identity));
    const { open } = this;
    if (!open || !isSame(open, identity)) throw noSuchTransaction(identity);
    open.connectionId = command.connectionId;
    open.statements++;
    const done = open.last.then(() => this.carryOut(open, command, work));
    open.last = done.catch(() => undefined);
    return done;
  }

  private begin(identity: Identity, { connectionId, pauses }: Command): Promise<void> {
    if (this.open && isSame(this.open, identity)) {
      const message = `Transaction ${identity.number} is already in progress.`;
      throw failure('ConflictingOperationInProgress', message);
    }
    return this.turn(
      pauses.deadline,
      () => {
        const timer = setTimeout(() => this.abort(open), this.lifetimeMs);
        const last = Promise.resolve();
        const open = { ...identity, connectionId, last, statements: 0, isDoomed: false, timer };
        this.open = open;
        this.store.hold();
      },
      { ...identity, connectionId },
    );
  }

  /** Carries out a statement. One that fails ends the transaction. */
  private async carryOut(open: OpenTransaction, command: Command, work: Work): Promise<Reply> {
    try {
      if (open.isDoomed) throw noSuchTransaction(open);
      if (!allowed.has(command.name)) throw notInside(command.name);
      if (command.name === 'commitTransaction') return await this.commit(open);
      const reply = command.name === 'abortTransaction' ? new Map() : await work();
      open.isDoomed ||= command.name === 'abortTransaction' || reply.has('writeErrors');
      return reply;
    } catch (error) {
      open.isDoomed = true;
      throw error;
    } finally {
      open.statements--;
      if (open.isDoomed) this.abort(open);
    }
  }

  private async commit(open: OpenTransaction): Promise<Reply> {
    await this.store.release();
    this.committed.delete(open.session);
    this.committed.set(open.session, open.number);
    const [oldest] = this.committed.keys();
    if (oldest !== undefined && this.committed.size > rememberedSessions) this.committed.delete(oldest);
    this.end(open);
    return new Map();
  }

  /** Undoes a transaction when none of its statements runs. */
  private abort(open: OpenTransaction): void {
    open.isDoomed = true;
    if (open.statements > 0 || this.open !== open) return;
    this.store.undo();
    this.end(open);
  }

  private end(open: OpenTransaction): void {
    clearTimeout(open.timer);
    // What comes after the end is no part of it.
    open.isDoomed = true;
    this.open = undefined;
    this.proceed();
  }

  /**
   * Resolves once `start` was called, when it was the turn of its caller.
   *
   * @throws CommandError MaxTimeMSExpired (50)
   */
  private turn(deadline: number, start: () => void, begins?: Beginning): Promise<void> {
    return new Promise((resolve, reject) => {
      const expire = (): void => {
        clearTimeout(timer);
        this.waiting.splice(this.waiting.indexOf(one), 1);
        reject(failure('MaxTimeMSExpired', 'operation exceeded time limit', begins && PASSING));
        this.proceed();
      };
      const timer = deadline === Infinity ? undefined : setTimeout(expire, deadline - performance.now());
      const proceed = (): void => {
        clearTimeout(timer);
        start();
        resolve();
      };
      const one = { begins, proceed, expire };
      this.waiting.push(one);
      this.proceed();
    });
  }

  /** Rejects transactions that wait to begin, and with which nobody will go on. */
  private forget(isGone: (one: Beginning) => boolean): void {
    for (const one of [...this.waiting]) if (one.begins && isGone(one.begins)) one.expire();
  }

  /** Lets those proceed whose turn it is, in the order in which they came. */
  private proceed(): void {
    for (let [next] = this.waiting; next && !this.open; [next] = this.waiting) {
      if (next.begins && this.running > 0) return;
      this.waiting.shift();
      next.proceed();
    }
  }
}

/** The transaction that a command belongs to. @throws CommandError if its fields contradict each other */
function identityOf(command: Command): Identity | undefined {
  const { body } = command;
  if (!['txnNumber', 'startTransaction', 'autocommit'].some((field) => body.has(field))) return undefined;
  if (body.get('autocommit') !== false) {
    const message = 'Transaction numbers are only allowed on a replica set member or mongos';
    throw failure('IllegalOperation', message);
  }
  const id = command.document('lsid')?.get('id');
  const number = body.get('txnNumber');
  if (!(id instanceof Binary) || !isNumber(number))
    throw failure('InvalidOptions', 'A transaction needs the fields lsid and txnNumber.');
  return { session: id.toString('hex'), number: toDouble(number) };
}

function isSame(one: Identity, other: Identity): boolean {
  return one.session === other.session && one.number === other.number;
}

function noSuchTransaction({ number }: Identity): CommandError {
  const message = `Given transaction number ${number} does not match any in-progress transactions.`;
  return failure('NoSuchTransaction', message, PASSING);
}

function notInside(name: string): CommandError {
  return failure(
    'OperationNotSupportedInTransaction',
    `Cannot run '${name}' in a multi-document transaction.`,
  );
}
