import { AsyncLocalStorage } from 'node:async_hooks';
import type { ClientSession, Connection } from 'mongoose';

/**
 * Knows whether code runs in a transaction of a connection. It does not see those of sessions that the driver's
 * own client starts, `connection.getClient().startSession()`.
 */
export class Transactions {
  private readonly current = new AsyncLocalStorage<ClientSession>();

  constructor(connection: Connection) {
    // Mongoose has no event for it: every other way to a session begins with one of these two.
    const start = connection.startSession.bind(connection);
    const within = connection.withSession.bind(connection);
    connection.startSession = async (options) => this.watched(await start(options));
    connection.withSession = (executor) => within((session) => executor(this.watched(session)));
  }

  /** Whether the caller runs in a transaction that has neither been committed nor aborted. */
  get isActive(): boolean {
    return this.current.getStore()?.inTransaction() ?? false;
  }

  private watched(session: ClientSession): ClientSession {
    const start = session.startTransaction.bind(session);
    const carryOut = session.withTransaction.bind(session);
    session.startTransaction = (options) => {
      start(options);
      this.current.enterWith(session);
    };
    // Only what it calls runs in the transaction, not the code behind the call.
    session.withTransaction = (work, options) => this.current.run(session, () => carryOut(work, options));
    return session;
  }
}
