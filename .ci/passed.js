import { existsSync, readFileSync } from 'node:fs';

/** Prints how many tests passed in a run that wrote its results; 1 for a step without tests. */
const [results] = process.argv.slice(2);
console.log(existsSync(results) ? JSON.parse(readFileSync(results, 'utf8')).numPassedTests : 1);
