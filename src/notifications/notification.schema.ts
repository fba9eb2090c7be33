import { Prop, Schema, SchemaFactory } from '@nestjs/mongoose';
import { Schema as MongooseSchema } from 'mongoose';

/** How long a recorded notification is kept. Unit: seconds. */
const KEPT_S = 30 * 24 * 60 * 60;

/** What subscribers are to be told. */
@Schema({ versionKey: false })
export class Notification {
  /** Kind of the notification, such as `posts.created`. */
  @Prop({ type: String, required: true })
  type!: string;

  /** The tenant whose record it is about. */
  @Prop({ type: String })
  tenant?: string;

  @Prop({ type: Date, required: true, expires: KEPT_S })
  timestamp!: Date;

  /** The record, as clients see it. */
  @Prop({ type: MongooseSchema.Types.Mixed, required: true })
  data!: unknown;
}

export const NotificationSchema = SchemaFactory.createForClass(Notification);
