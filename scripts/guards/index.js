import { NOTIFICATION_GUARDS } from './notifications.js';
import { READ_GUARDS } from './reads.js';
import { REQUEST_GUARDS } from './requests.js';
import { WRITE_GUARDS } from './writes.js';

/**
 * The lines that keep a promise of the service, each with the tests that must fail without it.
 *
 * @typedef {object} Guard
 * @property {string} name what it guards
 * @property {string} file the file that contains it, exactly once
 * @property {string} guard its text
 * @property {string} without the text that replaces it; the file must still compile
 * @property {string[]} tests test files that must notice, without their endings
 */

/** @type {readonly Guard[]} */
export const GUARDS = [...READ_GUARDS, ...WRITE_GUARDS, ...REQUEST_GUARDS, ...NOTIFICATION_GUARDS];
