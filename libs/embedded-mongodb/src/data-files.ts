/**
 * What a check of a stopped server's files reads them with: `test/crash/verify.mjs`. The operators are there for the filters of
 * partial indexes.
 */
import './operators/index.js';

export { Catalog } from './catalog/catalog.js';
export { recordOf, tableRange } from './storage/layout.js';
export { Store } from './storage/store.js';
