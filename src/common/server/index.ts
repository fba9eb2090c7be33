export { APP_DEFAULTS, createCrudApp, type CrudAppOptions } from './create-crud-app.js';
export type { ApiDescription } from './swagger-ui.js';
export { createLog, PinoLogger } from './log.js';
export { findProvider, onSignal, shutDownOnSignal, type ShutdownOptions } from './shut-down.js';
