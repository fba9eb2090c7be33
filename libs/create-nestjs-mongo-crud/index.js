#!/usr/bin/env node
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const TEMPLATES = ['fastify', 'express', 'notifications'];
const USAGE = `Usage: npm create nestjs-mongo-crud@latest <folder> -- [--template ${TEMPLATES.join('|')}] [--no-install]

Makes an application with a resource and its test, and installs its packages.`;

const { folder, template, skipsInstall } = readArguments();
const here = (path) => join(import.meta.dirname, path);
for (const part of ['shared', template]) cpSync(here(`templates/${part}`), folder, { recursive: true });
// npm leaves .gitignore out of packages.
renameSync(join(folder, 'gitignore'), join(folder, '.gitignore'));
writeFileSync(join(folder, '.env'), `JWT_SECRET=${randomBytes(32).toString('hex')}\n`);
const name = basename(folder)
  .toLowerCase()
  .replaceAll(/[^a-z0-9-]+/g, '-');
change('package.json', '"name": "app"', `"name": "${name}"`);
if (template === 'notifications')
  change('src/notes.module.ts', ' isolationFields,', ' isolationFields,\n      events: true,');
if (!skipsInstall) {
  const { status } = spawnSync('npm', ['install'], {
    cwd: folder,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  });
  if (status !== 0) process.exit(status ?? 1);
}
console.log(
  `\n  cd ${folder}${skipsInstall ? '\n  npm install' : ''}\n  npm start\n\nREADME.md says what to do next.`,
);

function change(file, from, to) {
  const path = join(folder, file);
  writeFileSync(path, readFileSync(path, 'utf8').replace(from, to));
}

function readArguments() {
  const options = {
    template: { type: 'string', default: TEMPLATES[0] },
    'no-install': { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  };
  let parsed;
  try {
    parsed = parseArgs({ options, allowPositionals: true });
  } catch ({ message }) {
    fail(`${message.split(/\. |\n/)[0]}; --help lists the options.`);
  }
  const { values, positionals } = parsed;
  if (values.help) {
    console.log(USAGE);
    process.exit(0);
  }
  if (positionals.length !== 1) fail(USAGE);
  if (!TEMPLATES.includes(values.template))
    fail(`There is no template "${values.template}", but ${TEMPLATES.join(', ')}.`);
  const path = resolve(positionals[0]);
  if (existsSync(path) && readdirSync(path).length > 0) fail(`${path} is not empty. Name a new folder.`);
  return { folder: path, template: values.template, skipsInstall: values['no-install'] };
}

function fail(sentence) {
  console.error(sentence);
  process.exit(1);
}
