import { Module } from '@nestjs/common';
import { MongooseModule } from '@nestjs/mongoose';
import { NotificationListener } from './notification.listener.js';
import { Notification, NotificationSchema } from './notification.schema.js';

/** Tells subscribers what happened to records. */
@Module({
  imports: [
    MongooseModule.forFeature([
      { name: Notification.name, schema: NotificationSchema, collection: 'notifications' },
    ]),
  ],
  providers: [NotificationListener],
})
export class NotificationsModule {}
