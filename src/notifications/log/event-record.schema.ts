import { Prop, Schema, SchemaFactory } from '@nestjs/mongoose';

/**
 * An event as subscribers get it. Stored once, in the log, so that every delivery and stream has the same
 * bytes.
 */
@Schema({ versionKey: false })
export class EventRecord {
  /** `evt_` and 24 hexadecimal digits. */
  @Prop({ type: String, required: true })
  _id!: string;

  /** Position in the log: without gaps, and in the order in which events become visible. */
  @Prop({ type: Number, required: true })
  seq!: number;

  /** Tenant whose subscribers get the event: 24 hexadecimal digits. */
  @Prop({ type: String, required: true })
  tenant!: string;

  /** Type, such as `posts.created`. */
  @Prop({ type: String, required: true })
  type!: string;

  @Prop({ type: Date, required: true })
  at!: Date;

  /** The JSON text of `{ type, timestamp, data }`. */
  @Prop({ type: String, required: true })
  body!: string;
}

export const EventRecordSchema = SchemaFactory.createForClass(EventRecord)
  .index({ seq: 1 }, { unique: true })
  .index({ tenant: 1, seq: 1 });
