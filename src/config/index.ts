export * from './root-options.js';
export * from './environment.js';
