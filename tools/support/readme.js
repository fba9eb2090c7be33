import { readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Settings of npm itself that a newcomer would also have. */
const NPM_SETTINGS = ['npm_config_cache', 'npm_config_registry', 'npm_config_userconfig'];
/** Variables that change how Node and npm work. */
const TOOL_VARIABLES = ['NODE_OPTIONS', 'NODE_PATH', 'INIT_CWD'];
const FIRST_SECTIONS = 3;

/**
 * The environment of a new terminal: without the variables that npm gave to this process, and without those
 * of the service, whose names are in .env.example.
 */
export function newTerminal(root) {
  const variables = [...readFileSync(join(root, '.env.example'), 'utf8').matchAll(/^#([A-Z_]+)=/gm)];
  const left = new Set([...TOOL_VARIABLES, ...variables.map(([, name]) => name)]);
  const entries = Object.entries(process.env).filter(
    ([name]) => !left.has(name) && (!/^npm_/i.test(name) || NPM_SETTINGS.includes(name)),
  );
  const path = process.env.PATH.split(delimiter).filter((folder) => !folder.includes('node_modules'));
  return { ...Object.fromEntries(entries), PATH: path.join(delimiter) };
}

/**
 * The commands of the first sections of README.md, besides the tour: `start`, `test` and the `scaffolds`.
 *
 * @throws Error if there is any other command, since nothing would try it
 */
export function documentedCommands(root) {
  const [, ...sections] = readFileSync(join(root, 'README.md'), 'utf8').split(/^## /m);
  const blocks = [
    ...sections
      .slice(0, FIRST_SECTIONS)
      .join('')
      .matchAll(/^```sh\n(.*?)^```/gms),
  ];
  const lines = blocks.flatMap(([, text]) => text.trim().split('\n'));
  const isScaffold = (line) => /^(npm run generate|npx nest g resource) /.test(line);
  const start = lines.find((line) => line.endsWith('npm start'));
  const test = lines.find((line) => line.endsWith('npm test'));
  const scaffolds = lines.filter(isScaffold);
  const unknown = lines.filter((line) => line !== start && line !== test && !isScaffold(line));
  if (!start || !test || scaffolds.length === 0)
    throw new Error('README.md no longer documents npm start, npm test or how to generate a resource.');
  if (unknown.length > 0) throw new Error(`README.md documents what nothing tries: ${unknown.join('; ')}`);
  return { start, test, scaffolds };
}
