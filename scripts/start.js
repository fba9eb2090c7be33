import '../src/check-node.js';
import { start } from './build-if-missing.js';
import { readArguments } from './support/arguments.js';

readArguments(`Usage: npm start

Starts the service, and builds it first if its sources are newer.
Settings are environment variables, which docs/configuration.md lists.`);
await start('main');
