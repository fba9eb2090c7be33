import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { buildBundles } from './build-if-missing.js';
import { fail, readArguments } from './support/arguments.js';

// The package of the generator contains the code that its entry points import, directly or not, and the types of its sources.
const NAME = 'nestjs-mongo-crud';
const EMBEDDED = 'nestjs-mongo-crud-embedded';
const GUIDE = 'docs/in-your-own-application.md';

/** The entry points, by the subpath of the package. */
const DOORS = {
  '.': 'src/index.ts',
  './notifications': 'src/common/notifications/index.ts',
  './testing': 'src/common/crud/testing/index.ts',
};

/** Packages that must be shared with the application: classes and decorators of two copies would not match. */
const SHARED =
  /^(?:@nestjs\/.+|class-transformer|class-validator|mongoose|reflect-metadata|rxjs|nestjs-mongo-crud-embedded)$/;
/** Shared packages that some applications do not need. */
const OPTIONAL = ['@nestjs/testing', EMBEDDED];
/** Versions that the application may have, where they are not only those of this repository: Nest 11 works as well as 12. */
const RANGES = {
  '@nestjs/common': '^11.2.0 || ^12.5.1',
  '@nestjs/core': '^11.2.0 || ^12.5.1',
  '@nestjs/event-emitter': '^3.1.0 || ^12.0.1',
  '@nestjs/mongoose': '^11.0.4 || ^12.0.0',
  '@nestjs/platform-fastify': '^11.2.0 || ^12.5.0',
  '@nestjs/swagger': '^11.4.0 || ^12.0.2',
  '@nestjs/testing': '^11.2.0 || ^12.1.1',
  // That of the platform, whose classes it takes.
  fastify: '^5.11.0',
};
/** Packages that are loaded by name: Nest's own, and those of the explorer and the log. */
const LOADED = ['@fastify/static', 'pino-pretty', 'reflect-metadata', 'rxjs'];

const root = readJson('package.json');

const { values } = readArguments(
  `Usage: npm run pack [-- --out FOLDER]

Writes the packages of the generator, of the embedded database and of npm create to the folder packages, or to another one.`,
  { out: { type: 'string' } },
);
const OUT = values.out ?? 'packages';
const FOLDER = join(OUT, NAME);
await buildBundles();
const { default: ts } = await import('typescript');
console.error('Writing the packages …');
if (!values.out) rmSync(OUT, { recursive: true, force: true });
mkdirSync(FOLDER, { recursive: true });
// No import leads to ambient declarations.
const ambient = 'src/common/fields/class-transformer-storage.d.ts';
const files = declare([...Object.values(DOORS), ambient], 'src', FOLDER);
for (const file of files) copyCode(file);
writeManifest(dependenciesOf(files));
copyFileSync('LICENSE', join(FOLDER, 'LICENSE'));
writeFileSync(join(FOLDER, 'README.md'), readme());
for (const folder of [FOLDER, embedded(), 'libs/create-nestjs-mongo-crud']) pack(folder);

/** Writes the package of the embedded database: its scripts, and the types of its entry point. */
function embedded() {
  const source = 'libs/embedded-mongodb';
  const folder = join(OUT, EMBEDDED);
  const manifest = readJson(join(source, 'package.json'));
  declare([join(source, 'src/index.ts')], join(source, 'src'), folder);
  for (const name of readdirSync(join(source, 'dist')).filter((one) => one.endsWith('.js')))
    writeFileSync(join(folder, 'dist', name), withoutMap(readFileSync(join(source, 'dist', name), 'utf8')));
  const [types, main] = ['./dist/index.d.ts', './dist/index.js'];
  Object.assign(manifest, { exports: { '.': { types, default: main } }, main, types, files: ['dist'] });
  Object.assign(manifest, { scripts: undefined, devDependencies: undefined });
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  for (const file of ['LICENSE', join(source, 'README.md')]) copyFileSync(file, join(folder, basename(file)));
  return folder;
}

/** Writes the declarations that entry points need. Returns their sources, by their paths below the root. */
function declare(entries, rootDir, folder) {
  const { config } = ts.readConfigFile('tsconfig.json', ts.sys.readFile);
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, '.');
  const program = ts.createProgram(entries, {
    ...options,
    rootDir,
    outDir: join(folder, 'dist'),
    declaration: true,
    emitDeclarationOnly: true,
    sourceMap: false,
    // The build has checked the types.
    noCheck: true,
    // Otherwise the embedded database, a link to its sources, would count as a part of the package.
    preserveSymlinks: true,
  });
  // A single entry point has no types but its own.
  const only = entries.length === 1 ? program.getSourceFile(entries[0]) : undefined;
  const { diagnostics } = program.emit(only);
  if (diagnostics.length > 0) {
    fail(diagnostics.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')).join('\n'));
  }
  return program
    .getSourceFiles()
    .filter(({ fileName, isDeclarationFile }) => !isDeclarationFile && !fileName.includes('node_modules'))
    .map(({ fileName }) => relative(rootDir, fileName));
}

/** Copies a module of the build, without the reference to its source map, which is not copied. */
function copyCode(file) {
  const name = file.replace(/\.ts$/, '.js');
  const target = join(FOLDER, 'dist', name);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, withoutMap(readFileSync(join('dist', name), 'utf8')));
}

function withoutMap(code) {
  return code.replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n');
}

/** The packages that the copied code and its declarations import, by their lists in package.json. */
function dependenciesOf(sources) {
  const names = new Set(LOADED);
  for (const file of sources) {
    for (const ending of ['.js', '.d.ts']) {
      const path = join(FOLDER, 'dist', file.replace(/\.ts$/, ending));
      for (const specifier of importsOf(path)) {
        const name = packageOf(specifier);
        if (name) names.add(name);
      }
    }
  }
  const dependencies = {};
  const peerDependencies = {};
  for (const name of [...names].sort()) {
    const version = root.dependencies[name] ?? root.devDependencies[name];
    if (!version) throw new Error(`The package would need ${name}, which package.json does not have.`);
    (SHARED.test(name) ? peerDependencies : dependencies)[name] = RANGES[name] ?? version;
  }
  return { dependencies, peerDependencies };
}

/** The modules that a file imports or exports, when it is loaded or later, and those that it adds types to. */
function importsOf(path) {
  const specifiers = [];
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest);
  ts.forEachChild(source, function visit(node) {
    const isCall = ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword;
    const module = isCall
      ? node.arguments[0]
      : ts.isImportTypeNode(node)
        ? node.argument.literal
        : ts.isModuleDeclaration(node)
          ? node.name
          : node.moduleSpecifier;
    if (module && ts.isStringLiteral(module)) specifiers.push(module.text);
    ts.forEachChild(node, visit);
  });
  return specifiers;
}

/** The package of an import; undefined for a file and for a module of Node. */
function packageOf(specifier) {
  if (specifier.startsWith('.') || specifier.startsWith('node:') || builtinModules.includes(specifier))
    return undefined;
  return /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0];
}

function writeManifest({ dependencies, peerDependencies }) {
  const exports = Object.entries(DOORS).map(([path, source]) => {
    const built = `./dist/${relative('src', source).replace(/\.ts$/, '')}`;
    return [path, { types: `${built}.d.ts`, default: `${built}.js` }];
  });
  // What "moduleResolution": "node10" reads.
  const old = exports.map(([path, { types }]) => [path.replace('./', ''), [types]]);
  const optional = Object.keys(peerDependencies).filter((name) => OPTIONAL.includes(name));
  const manifest = {
    name: NAME,
    version: root.version,
    description: 'Multi-tenant CRUD resources for NestJS and MongoDB, ten lines each.',
    license: root.license,
    type: 'module',
    engines: root.engines,
    exports: Object.fromEntries(exports),
    main: './dist/index.js',
    types: './dist/index.d.ts',
    typesVersions: { '*': Object.fromEntries(old.slice(1)) },
    files: ['dist'],
    dependencies,
    peerDependencies,
    peerDependenciesMeta: Object.fromEntries(optional.map((name) => [name, { optional: true }])),
  };
  writeFileSync(join(FOLDER, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

/** The guide, without the links to other pages of this repository, which the package does not contain. */
function readme() {
  return readFileSync(GUIDE, 'utf8').replaceAll(/\[([^\]]+)\]\((?!https?:|#)[^)]*\)/g, '$1');
}

function pack(folder) {
  const { status, stdout } = spawnSync(
    'npm',
    ['pack', '--json', '--ignore-scripts', '--pack-destination', OUT, resolve(folder)],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], shell: process.platform === 'win32' },
  );
  if (status !== 0) process.exit(status ?? 1);
  const [{ filename }] = JSON.parse(stdout);
  process.stdout.write(`${join(OUT, filename)}\n`);
}

function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'));
}
