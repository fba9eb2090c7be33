import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { readArguments } from '../../scripts/support/arguments.js';

readArguments(`Usage: npm run pack && node tools/nest-11/run.js

Installs the packages of npm run pack beside Nest 11, and runs the contract of a resource there.`);

const NEST = ['core', 'common', 'platform-express', 'platform-fastify', 'mongoose', 'swagger', 'testing'];

const folder = mkdtempSync(join(tmpdir(), 'nest-11-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
cpSync('tools/nest-11/contract.js', join(folder, 'contract.js'));
const run = (command, ...args) => execFileSync(command, args, { cwd: folder, stdio: 'inherit' });
run(
  'npm',
  ...['install', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'],
  ...NEST.map((name) => `@nestjs/${name}@11`),
  ...['@nestjs/event-emitter@3', 'mongoose@9', 'class-validator', 'class-transformer', 'reflect-metadata'],
  ...['rxjs', 'expect'],
  ...readdirSync('packages')
    .filter((name) => name.endsWith('.tgz'))
    .map((name) => resolve('packages', name)),
);
run(process.execPath, '--test', 'contract.js');
