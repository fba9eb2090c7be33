export * from './configuration.error.js';
export * from './data-dir.js';
export * from './root-options.js';
export * from './environment.js';
