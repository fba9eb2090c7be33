import { Injectable, Logger } from '@nestjs/common';
import { InjectModel } from '@nestjs/mongoose';
import { Model } from 'mongoose';
import { Database } from '../common/database/index.js';
import { type EntityEvent, OnEntityEvent } from '../common/events/index.js';
import { Notification } from './notification.schema.js';

/** Records a notification about every new post, and logs it. */
@Injectable()
export class NotificationListener {
  private readonly logger = new Logger('Notifications');

  constructor(
    @InjectModel(Notification.name) private readonly notifications: Model<Notification>,
    private readonly database: Database,
  ) {}

  @OnEntityEvent('posts', 'afterCreate')
  async onPostCreated({ record, tenant, time }: EntityEvent<{ _id: string; title: string }>): Promise<void> {
    const notification = { type: 'posts.created', tenant, timestamp: new Date(time), data: record };
    await this.database.call(() => this.notifications.create(notification));
    this.logger.log({ type: notification.type, tenant, post: record._id }, `New post: ${record.title}`);
  }
}
