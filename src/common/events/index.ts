export * from './entity-event.js';
export * from './entity-event.publisher.js';
export * from './events.module.js';
export * from './on-entity-event.js';
