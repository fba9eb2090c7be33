import { Injectable } from '@nestjs/common';
import { InjectConnection } from '@nestjs/mongoose';
import { type Connection, type mongo, Types } from 'mongoose';
import { CRUD_CONNECTION, Database, FROM_PRIMARY, OPERATION_LIMITS } from '../../database/index.js';
import type { Subscription } from './subscription.schema.js';

type Stored = Subscription & { readonly _id: Types.ObjectId };

/** The part of a subscription that decides which events it gets. */
export type Subscriber = Pick<Stored, '_id' | 'events' | 'since'>;

/** The part of a subscription that deliveries need. */
export type Receiver = Pick<Stored, '_id' | 'tenant' | 'url' | 'enabled' | 'secret' | 'previousSecrets'>;

const RECEIVER = { tenant: 1, url: 1, enabled: 1, secret: 1, previousSecrets: 1 } as const;

/** The subscriptions of all tenants, as what makes and sends deliveries needs them. */
@Injectable()
export class Receivers {
  constructor(
    @InjectConnection(CRUD_CONNECTION) private readonly connection: Connection,
    private readonly database: Database,
  ) {}

  /** Those of the tenants that have subscriptions. */
  async tenantsAmong(tenants: readonly string[]): Promise<ReadonlySet<string>> {
    const filter = { tenant: { $in: tenants.map((tenant) => new Types.ObjectId(tenant)) } };
    const found = await this.database.call(() => this.stored.distinct('tenant', filter, FROM_PRIMARY));
    return new Set(found.map(String));
  }

  /** The enabled subscriptions of a tenant, read each time, so that none registered before an event is left out. */
  enabledOf(tenant: Types.ObjectId): Promise<Subscriber[]> {
    const options = { ...FROM_PRIMARY, projection: { events: 1, since: 1 } } as const;
    return this.database.call(() => this.stored.find({ tenant, enabled: true }, options).toArray());
  }

  /** Subscriptions by identifier, without deleted ones. */
  async find(ids: readonly Types.ObjectId[]): Promise<Map<string, Receiver>> {
    const options = { ...FROM_PRIMARY, projection: RECEIVER } as const;
    const filter = { _id: { $in: [...ids] } };
    const found = await this.database.call(() => this.stored.find(filter, options).toArray());
    return new Map(found.map((receiver) => [String(receiver._id), receiver]));
  }

  /** Disables a subscription, unless its URL has changed. */
  async disable({ _id, url }: Receiver): Promise<void> {
    const filter = { _id, url, enabled: true };
    const change = { $set: { enabled: false, updatedAt: new Date() }, $inc: { __v: 1 } };
    await this.database.call(() => this.stored.updateOne(filter, change, OPERATION_LIMITS));
  }

  private get stored(): mongo.Collection<Stored> {
    return this.connection.collection('subscriptions') as never;
  }
}

/** The secrets that currently sign messages to a receiver, newest first. */
export function secretsOf({ secret, previousSecrets = [] }: Receiver): string[] {
  const valid = previousSecrets.filter(({ until }) => until.getTime() > Date.now());
  return [secret, ...valid.map((previous) => previous.secret)];
}
