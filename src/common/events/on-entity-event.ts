import { OnEvent } from '@nestjs/event-emitter';
import { type AfterHook, entityEventName } from './entity-event.js';

/**
 * Subscribes a method to an entity event. What it throws is logged with the event by the publisher and changes nothing
 * for the client.
 */
export function OnEntityEvent(resource: string, hook: AfterHook): MethodDecorator {
  // Nest would log the error alone; unsuppressed, it reaches the publisher, which knows the event.
  return OnEvent(entityEventName(resource, hook), { suppressErrors: false });
}
