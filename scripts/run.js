import '../src/check-node.js';
import { spawnSync } from 'node:child_process';
import { readArguments } from './support/arguments.js';

/** The npm scripts that run several commands: what each is for, and the commands. */
const SCRIPTS = {
  build: [
    'Checks the types, and builds the service into dist.',
    'tsc -p tsconfig.build.json',
    'node scripts/compile.js',
    'node scripts/bundle.js',
    'node scripts/compile-bundles.js',
  ],
  check: [
    'Checks format, lint rules, imports, types and sizes. Writes nothing; npm run format corrects what it can.',
    'prettier --check --log-level warn .',
    'eslint --max-warnings 0 .',
    'tsc --noEmit',
    'tsc --noEmit -p libs/embedded-mongodb',
    'node scripts/check-budgets.js',
    'node scripts/check-surface.js',
  ],
  format: ['Corrects the format, and lint faults.', 'prettier --write --log-level warn .', 'eslint --fix .'],
  'start:dev': [
    'Starts the service, and restarts it after every save. docs/configuration.md lists its settings.',
    'npm run --silent build -w nestjs-mongo-crud-embedded',
    'nest start --watch --no-shell',
  ],
};

const [name] = process.argv.splice(2, 1);
const [purpose, ...commands] = SCRIPTS[name];
readArguments(`Usage: npm run ${name}\n\n${purpose}`);
// The command ends by Ctrl-C in its own time.
process.on('SIGINT', () => undefined);
for (const command of commands) {
  console.error(`> ${command}`);
  const { status } = spawnSync(command, { shell: true, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
