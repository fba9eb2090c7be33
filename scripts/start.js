import '../src/check-node.js';
import { readArguments } from './support/arguments.js';

readArguments(`Usage: npm start

Starts the service, and builds it first if its sources are newer.
Settings are environment variables, which docs/configuration.md lists.`);
await import('./build-if-missing.js');
// In the same process, since another one would delay the start.
await import('../dist/bundle/main.js');
