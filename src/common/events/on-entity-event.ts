import { OnEvent } from '@nestjs/event-emitter';
import { type AfterHook, entityEventName } from './entity-event.js';

/**
 * Subscribes a method to an entity event. The publisher logs its exceptions together with the event; they do
 * not affect the client.
 */
export function OnEntityEvent(resource: string, hook: AfterHook): MethodDecorator {
  // Nest would log only the error. Unsuppressed, it reaches the publisher, which knows the event.
  return OnEvent(entityEventName(resource, hook), { suppressErrors: false });
}
