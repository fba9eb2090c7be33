import '../src/check-node.js';
import { start } from './build-if-missing.js';
import { readArguments } from './support/arguments.js';

readArguments(`Usage: npm run start:worker

Starts a worker, which delivers webhooks, and builds it first if its sources are newer.
Settings are environment variables, which docs/configuration.md lists.`);
await start('worker');
