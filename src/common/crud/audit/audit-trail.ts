import { type BeforeApplicationShutdown, Logger } from '@nestjs/common';
import { type Model, Types } from 'mongoose';
import { Batches, type Database } from '../../database/index.js';
import { DatabaseTooSlowError, DatabaseUnavailableError, DomainError, reasonOf } from '../../errors/index.js';
import { isObjectId } from '../../ids/index.js';
import type { TenantContext, TenantScope } from '../../tenancy/index.js';
import type { OutboxEntry } from '../store/outbox.js';
import type { Fields } from '../schema/store-types.js';
import type { AuditOutcome } from './audit-entry.js';

declare module '../../request/index.js' {
  interface RequestContext {
    /** The request that a write belongs to, also one of a cascade. */
    origin?: { readonly requestId: string; readonly address: string };
    /** Whether the caller cannot read the record. Its audit record then names nobody who could read that. */
    isSecret?: boolean;
  }
}

/** Maximum number of audit records that one command stores or updates. */
const MAX_BATCH = 500;

/** How long an outcome waits so that one command can store several. Unit: milliseconds. */
const OUTCOME_MS = 100;

const DAY_MS = 86_400_000;

/** Maximum length of a stored subject. Unit: characters. */
const MAX_SUBJECT = 1_000;

interface Ended {
  readonly _id: Types.ObjectId;
  readonly outcome: AuditOutcome;
  readonly code?: string;
}

/** The audit records of one resource. Each is stored before its write, and the outcome soon after. */
export class AuditTrail implements BeforeApplicationShutdown {
  private readonly logger = new Logger('Audit');
  private readonly beginning = new Batches<Fields, undefined>(
    async (documents) => {
      await this.model.collection.insertMany([...documents], { ...this.database.limits, ordered: false });
      return [];
    },
    { max: MAX_BATCH },
  );
  private readonly ending = new Batches<Ended, undefined>((ended) => this.storeOutcomes(ended), {
    max: MAX_BATCH,
    lingerMs: OUTCOME_MS,
  });

  constructor(
    private readonly model: Model<Fields>,
    private readonly database: Database,
    private readonly options: { readonly resource: string; readonly keptDays: number },
  ) {}

  /**
   * Carries out a write between its audit record and its outcome. If the database does not answer, nobody
   * knows whether the write happened: the outcome stays `unknown`.
   *
   * @param write resolves with undefined if no record matched
   * @param onOrdered called when the next write may begin its own
   * @throws what the write throws, and an Error before it if the audit record cannot be stored
   */
  async around<T>(
    { caller, context }: TenantScope,
    record: unknown,
    { action, at, changed }: OutboxEntry,
    write: () => Promise<T>,
    onOrdered?: () => void,
  ): Promise<T> {
    const { tenant, subject }: Partial<TenantContext> = context.isSecret ? {} : caller;
    const _id = new Types.ObjectId();
    const beginning = this.begin({
      _id,
      createdAt: at,
      resource: this.options.resource,
      action,
      record,
      changed,
      ...(isObjectId(tenant) && { tenant: new Types.ObjectId(tenant) }),
      ...(subject !== undefined && { subject: subject.slice(0, MAX_SUBJECT) }),
      ...context.origin,
      outcome: 'unknown',
      expiresAt: new Date(at.getTime() + this.options.keptDays * DAY_MS),
      __v: 0,
    });
    onOrdered?.();
    await beginning;
    try {
      const result = await write();
      this.end({ _id, outcome: result === undefined ? 'unmatched' : 'done' });
      return result;
    } catch (error) {
      const code = error instanceof DomainError ? error.code : 'INTERNAL_ERROR';
      if (!isOfDatabase(error)) this.end({ _id, outcome: 'refused', code });
      throw error;
    }
  }

  /** The same trail for the writes of a transaction. @param afterCommit takes what is done once it is committed */
  within(database: Database, afterCommit: (task: () => void) => void): AuditTrail {
    const inside = new AuditTrail(this.model, database, this.options);
    inside.end = (ended) => afterCommit(() => this.end(ended));
    return inside;
  }

  /** Stores the known outcomes while the database is still open. */
  beforeApplicationShutdown(): Promise<void> {
    return this.ending.drain();
  }

  private async begin(document: Fields): Promise<void> {
    try {
      await this.database.call(() => this.beginning.add(document));
    } catch (error) {
      if (isOfDatabase(error) || this.database.limits.session) throw error;
      // Such as a duplicate key, which is about the audit record and not about the caller's record.
      throw new Error('The audit record of a write could not be stored.', { cause: error });
    }
  }

  private end = (ended: Ended): void => {
    this.ending.add(ended).catch((error: unknown) => {
      const reason = reasonOf(error);
      this.logger.error({ audit: String(ended._id), ...ended, reason }, 'An outcome could not be stored');
    });
  };

  private async storeOutcomes(ended: readonly Ended[]): Promise<undefined[]> {
    const updates = ended.map(({ _id, ...$set }) => ({
      updateOne: { filter: { _id }, update: { $set, $inc: { __v: 1 } } },
    }));
    await this.database.call(() =>
      this.model.collection.bulkWrite(updates, { ...this.database.limits, ordered: false }),
    );
    return [];
  }
}

function isOfDatabase(error: unknown): boolean {
  return error instanceof DatabaseUnavailableError || error instanceof DatabaseTooSlowError;
}
