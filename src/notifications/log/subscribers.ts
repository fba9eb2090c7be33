import { Injectable } from '@nestjs/common';
import { InjectConnection } from '@nestjs/mongoose';
import { type Connection, type mongo, Types } from 'mongoose';
import { Database, OPERATION_LIMITS } from '../../common/database/index.js';

/** The fields of a subscription that the recorder reads. */
export interface Subscriber {
  readonly _id: Types.ObjectId;
  readonly tenant: Types.ObjectId;
  /** Types of events to send to it. */
  readonly events: readonly string[];
}

/**
 * The subscriptions that should get events, read each time, so that one registered before an event is never
 * left out.
 */
@Injectable()
export class Subscribers {
  constructor(
    @InjectConnection() private readonly connection: Connection,
    private readonly database: Database,
  ) {}

  /** The enabled subscriptions of tenants. */
  of(tenants: readonly string[]): Promise<Subscriber[]> {
    const filter = { tenant: { $in: tenants.map((tenant) => new Types.ObjectId(tenant)) }, enabled: true };
    const projection = { tenant: 1, events: 1 } as const;
    return this.database.call(() =>
      this.subscriptions.find(filter, { ...OPERATION_LIMITS, projection }).toArray(),
    );
  }

  private get subscriptions(): mongo.Collection<Subscriber> {
    return this.connection.collection('subscriptions') as unknown as mongo.Collection<Subscriber>;
  }
}
