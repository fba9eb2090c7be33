import { type DynamicModule, Global, Module } from '@nestjs/common';
import { EventEmitterModule } from '@nestjs/event-emitter';
import { EntityEventPublisher, EVENTS_OPTIONS, type EventsOptions } from './entity-event.publisher.js';

/** Entity events through EventEmitter2. */
@Global()
@Module({})
export class EventsModule {
  static forRoot(options: EventsOptions): DynamicModule {
    return {
      module: EventsModule,
      imports: [EventEmitterModule.forRoot()],
      providers: [EntityEventPublisher, { provide: EVENTS_OPTIONS, useValue: options }],
      exports: [EntityEventPublisher],
    };
  }
}
