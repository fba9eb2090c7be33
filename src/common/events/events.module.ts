import { type DynamicModule, type FactoryProvider, Global, Module } from '@nestjs/common';
import { EventEmitterModule } from '@nestjs/event-emitter';
import { EntityEventPublisher, EVENTS_OPTIONS, type EventsOptions } from './entity-event.publisher.js';

/** Provides entity events through EventEmitter2. */
@Global()
@Module({})
export class EventsModule {
  static forRoot(options: Pick<FactoryProvider<EventsOptions>, 'inject' | 'useFactory'>): DynamicModule {
    return {
      module: EventsModule,
      imports: [EventEmitterModule.forRoot()],
      providers: [EntityEventPublisher, { provide: EVENTS_OPTIONS, ...options }],
      exports: [EntityEventPublisher],
    };
  }
}
