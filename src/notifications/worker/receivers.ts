import { Injectable } from '@nestjs/common';
import { InjectConnection } from '@nestjs/mongoose';
import type { Connection, mongo, Types } from 'mongoose';
import { CRUD_CONNECTION, Database, OPERATION_LIMITS } from '../../common/database/index.js';
import type { EventRecord } from '../log/event-record.schema.js';

/** The part of a subscription that deliveries need. */
export interface Receiver {
  readonly _id: Types.ObjectId;
  readonly tenant: Types.ObjectId;
  readonly url: string;
  readonly enabled: boolean;
  readonly secret: string;
  /** Replaced secrets, each of which still signs until its time is over. */
  readonly previousSecrets?: readonly { readonly secret: string; readonly until: Date }[];
}

const RECEIVER = { tenant: 1, url: 1, enabled: 1, secret: 1, previousSecrets: 1 } as const;

/** The secrets that currently sign messages to a receiver, newest first. */
export function secretsOf({ secret, previousSecrets = [] }: Receiver): string[] {
  const valid = previousSecrets.filter(({ until }) => until.getTime() > Date.now());
  return [secret, ...valid.map((previous) => previous.secret)];
}

/**
 * Reads the parts of many deliveries at once, from the primary, because a secondary may not have them yet.
 */
@Injectable()
export class Receivers {
  constructor(
    @InjectConnection(CRUD_CONNECTION) private readonly connection: Connection,
    private readonly database: Database,
  ) {}

  /** Subscriptions by identifier, without deleted ones. */
  async find(ids: readonly Types.ObjectId[]): Promise<Map<string, Receiver>> {
    const found = await this.read<Receiver>('subscriptions', ids, RECEIVER);
    return new Map(found.map((receiver) => [String(receiver._id), receiver]));
  }

  /** The bodies of events by identifier, without those that are no longer stored. */
  async bodies(ids: readonly string[]): Promise<Map<string, string>> {
    const found = await this.read<EventRecord>('events', ids, { body: 1 });
    return new Map(found.map(({ _id, body }) => [_id, body]));
  }

  /** Disables a subscription, unless its URL has changed. */
  async disable({ _id, url }: Receiver): Promise<void> {
    const change = { $set: { enabled: false, updatedAt: new Date() }, $inc: { __v: 1 } };
    await this.database.call(() =>
      this.connection
        .collection('subscriptions')
        .updateOne({ _id, url, enabled: true }, change, { ...OPERATION_LIMITS }),
    );
  }

  private read<T extends { readonly _id: unknown }>(
    collection: string,
    ids: readonly unknown[],
    projection: Record<string, 1>,
  ): Promise<T[]> {
    const filter = { _id: { $in: [...new Set(ids)] } } as mongo.Filter<mongo.Document>;
    const options = { ...OPERATION_LIMITS, projection, readPreference: 'primary' } as const;
    return this.database.call(() =>
      this.connection.collection(collection).find(filter, options).toArray(),
    ) as Promise<unknown> as Promise<T[]>;
  }
}
