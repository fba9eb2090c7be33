/**
 * For reading the files of a stopped server in a check: `test/crash/verify.mjs`. The operators are loaded for
 * the filters of partial indexes.
 */
import './operators/index.js';

export { Catalog } from './catalog/catalog.js';
export { recordOf, tableRange } from './storage/layout.js';
export { Store } from './storage/store.js';
