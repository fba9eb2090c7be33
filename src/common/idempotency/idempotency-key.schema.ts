import { Prop, Schema, SchemaFactory } from '@nestjs/mongoose';
import { Schema as MongooseSchema, Types } from 'mongoose';

/** An answer as it is kept for replays. */
export interface KeptAnswer {
  readonly status: number;
  /** The headers that the handler added. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  /** SHA-256 of the claims of the token, without those that every token has anew. */
  readonly claims?: string;
  /** How the stored body is compressed; absent if it is not. */
  readonly coding?: 'gzip';
}

/** A used key: reserved while its first request runs, and then stored with the answer. */
@Schema({ versionKey: false })
export class IdempotencyKey {
  /** SHA-256 of the caller, the target and the key itself. */
  @Prop({ type: String, required: true })
  _id!: string;

  /** SHA-256 of the body's bytes; the body itself is not stored. */
  @Prop({ type: String, default: '' })
  bodyHash!: string;

  /** Seed for the identifiers of the records that the request creates. */
  @Prop({ type: Types.ObjectId, required: true })
  seed!: Types.ObjectId;

  /** The owner that carries out the request; only it may store the answer. */
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
