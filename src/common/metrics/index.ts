export * from './metrics.js';
export * from './metrics.module.js';
