import { type DynamicModule, Module } from '@nestjs/common';
import { EventLogModule } from '../log/event-log.js';
import { EventFeed } from './event-feed.js';
import { EventStreams } from './event-streams.js';
import { EventsController } from './events.controller.js';
import { STREAM_DEFAULTS, STREAM_OPTIONS, type StreamOptions, StreamStarts } from './stream-options.js';

/** `GET /events`: the live stream of a tenant's events. */
@Module({})
export class StreamModule {
  static forRoot(options: Partial<StreamOptions> = {}): DynamicModule {
    return {
      module: StreamModule,
      imports: [EventLogModule],
      controllers: [EventsController],
      providers: [
        EventFeed,
        EventStreams,
        StreamStarts,
        { provide: STREAM_OPTIONS, useValue: { ...STREAM_DEFAULTS, ...options } },
      ],
    };
  }
}
