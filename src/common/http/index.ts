export * from './body.js';
export * from './fair-share.js';
export * from './json-body.js';
export * from './negotiation.js';
export * from './route-options.js';
export * from './strict-query.js';
export * from './stream-slots.js';
