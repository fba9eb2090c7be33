export * from './configuration.error.js';
export * from './data-dir.js';
export * from './development-secret.js';
export * from './environment.js';
export * from './root-options.js';
