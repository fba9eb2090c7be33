import { freePort } from '../scripts/support/free-port.js';

/** Prints a TCP port that nobody listens on. */
console.log(await freePort());
