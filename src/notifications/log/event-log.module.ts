import { Module } from '@nestjs/common';
import { MongooseModule } from '@nestjs/mongoose';
import { CRUD_CONNECTION, reserveCollection } from '../../common/database/index.js';
import { EventLog } from './event-log.js';
import { EventRecord, EventRecordSchema } from './event-record.schema.js';

/** The one log of a process: appending to it wakes everyone who follows it. */
@Module({
  imports: [
    MongooseModule.forFeature(
      [{ name: EventRecord.name, schema: reserveCollection(EventRecordSchema), collection: 'events' }],
      CRUD_CONNECTION,
    ),
  ],
  providers: [EventLog],
  exports: [EventLog, MongooseModule],
})
export class EventLogModule {}
