export * from './error-messages.js';
export * from './errors.js';
export * from './log-text.js';
export * from './problem-docs.js';
export * from './problems.js';
export { pathOf } from '../request/index.js';
