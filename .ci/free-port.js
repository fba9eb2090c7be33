import { freePort } from '../scripts/support/processes.js';

/** Prints a TCP port that nobody listens on. */
console.log(await freePort());
