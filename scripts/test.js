import '../src/check-node.js';
import { buildArgv } from 'jest';
import { buildBundles } from './build-if-missing.js';
import { fail } from './support/arguments.js';

// Before a build, Jest prints its help, or rejects an option.
await buildArgv().catch(({ message }) => fail(/Unrecognized option.*/.exec(message)?.[0] ?? message));
await buildBundles();
await import('jest/bin/jest');
