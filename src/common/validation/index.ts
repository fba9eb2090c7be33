export * from './is-flag.js';
export * from './is-text.js';
export * from './is-text-list.js';
export * from './is-timestamp.js';
