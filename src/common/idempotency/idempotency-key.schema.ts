import { Prop, Schema, SchemaFactory } from '@nestjs/mongoose';
import { Schema as MongooseSchema, Types } from 'mongoose';

/** An answer as it is kept for replays. */
export interface KeptAnswer {
  readonly status: number;
  /** The headers that the handler gave it. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
}

/** A key that was sent: reserved while its first request is carried out, and then with the answer. */
@Schema({ versionKey: false })
export class IdempotencyKey {
  /** SHA-256 of the caller, the target and the key itself. */
  @Prop({ type: String, required: true })
  _id!: string;

  /** SHA-256 of the body's bytes; the body itself is not kept. */
  @Prop({ type: String, default: '' })
  bodyHash!: string;

  /** Seed from which the identifiers of the records that the request creates are derived. */
  @Prop({ type: Types.ObjectId, required: true })
  seed!: Types.ObjectId;

  /** Who carries the request out; nobody else may keep its answer. */
  @Prop({ type: String, required: true })
  owner!: string;

  /** When another request with the key may take it over. */
  @Prop({ type: Date, required: true })
  leaseUntil!: Date;

  @Prop({ type: MongooseSchema.Types.Mixed })
  answer?: KeptAnswer;

  @Prop({ type: Date, required: true, expires: 0 })
  expiresAt!: Date;
}

export const IdempotencyKeySchema = SchemaFactory.createForClass(IdempotencyKey);
