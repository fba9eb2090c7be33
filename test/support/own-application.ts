import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

const GUIDE = 'docs/in-your-own-application.md';

/** The settings of an application, as `@nestjs/config` has them. */
const CONFIG = `
import { Injectable, Module } from '@nestjs/common';

@Injectable()
export class ConfigService {
  getOrThrow<T>(name: string): T {
    return process.env[name] as T;
  }
}
@Module({ providers: [ConfigService], exports: [ConfigService] })
export class ConfigModule {}
`;

/** A template of the Nest CLI. */
export type Template = 'esm' | 'cjs';

/** What the template itself needs to compile, besides what the package brings along. */
const TOOLS = ['@nestjs/cli', '@nestjs/schematics', '@types/jest', '@types/node', 'typescript'];

interface Manifest {
  dependencies: Record<string, string>;
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, { optional?: boolean }>;
}

/** Runs a command and gives its output; throws it if the command fails. */
export function run(folder: string, command: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: folder, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}\n${stdout}${stderr}`);
  return stdout;
}

/** Makes the packages, and gives their paths by their names. */
export function makePackages(): Record<'generator' | 'embedded', string> {
  const packed = run('.', process.execPath, 'scripts/pack.js').trim().split('\n');
  const [generator = '', embedded = ''] = packed.map((path) => resolve(path));
  return { generator, embedded };
}

/** Makes a new application from a template of the Nest CLI, as `nest new` does, with only its tools installed. */
export function newApplication(type: Template): string {
  const folder = mkdtempSync(join(tmpdir(), `own-${type}-`));
  // The program that `nest new` runs, which would ask for the module system in a terminal.
  const cli = createRequire(resolve('node_modules/@nestjs/cli/package.json'));
  const schematics = cli.resolve('@angular-devkit/schematics-cli/bin/schematics.js');
  const options = ['--name=shop', '--directory=.', `--type=${type}`, '--language=ts', '--strict'];
  run(folder, process.execPath, schematics, '@nestjs/schematics:application', ...options);
  for (const name of TOOLS) link(folder, name);
  return folder;
}

/**
 * Installs a package as npm would, without a registry: the package from its file, and links to what it declares, and to nothing else.
 *
 * @param path of the file that `npm pack` made
 */
export function install(folder: string, path: string): void {
  const name = /([a-z-]+)-\d[^/]*\.tgz$/.exec(path)?.[1] ?? '';
  const target = join(folder, 'node_modules', name);
  mkdirSync(target, { recursive: true });
  run(target, 'tar', '-xzf', path, '--strip-components=1');
  const manifest = JSON.parse(readFileSync(join(target, 'package.json'), 'utf8')) as Manifest;
  const { dependencies, peerDependencies = {}, peerDependenciesMeta = {} } = manifest;
  const peers = Object.keys(peerDependencies).filter((peer) => !peerDependenciesMeta[peer]?.optional);
  for (const needed of [...Object.keys(dependencies), ...peers]) link(folder, needed);
}

export function link(folder: string, name: string): void {
  const target = join(folder, 'node_modules', name);
  mkdirSync(dirname(target), { recursive: true });
  symlinkSync(resolve('node_modules', name), target);
}

/** Writes the files that the guide tells to write. */
export function followGuide(folder: string): void {
  const blocks = readFileSync(GUIDE, 'utf8').matchAll(/```ts (\S+)\n(.*?)```/gs);
  for (const [, path = '', code = ''] of blocks) write(folder, path, code);
}

/** Writes the module with injected settings that the guide shows, for the compiler. */
export function writeAsyncRoot(folder: string): void {
  const [root = ''] = /CrudModule\.forRootAsync\([^]*?\n}\)/.exec(readFileSync(GUIDE, 'utf8')) ?? [];
  write(folder, 'src/config.ts', CONFIG);
  write(
    folder,
    'src/async-root.ts',
    `import { CrudModule } from 'nestjs-mongo-crud';
import { ConfigModule, ConfigService } from './config.js';
export const root = ${root};`,
  );
}

export function write(folder: string, path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}
