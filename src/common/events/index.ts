export * from './entity-events.js';
