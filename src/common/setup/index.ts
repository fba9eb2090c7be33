export { APP_DEFAULTS, createCrudApp, type CrudAppOptions } from './create-crud-app.js';
export { type ApiDescription, useExplorer } from './explorer.js';
