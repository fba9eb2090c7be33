import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build, transformSync } from 'esbuild';
import ts from 'typescript';

/**
 * Joins the built service and its dependencies into one script each for `dist/bundle/main.js` and `dist/bundle/worker.js`, and compiles
 * them: reading, linking and compiling over 2,000 modules takes most of a start. Functions and classes keep their names, which
 * Nest and the documents use.
 */
const NAMES = ['main', 'worker'];
const FOLDER = 'dist/bundle';
const TARGET = 'node20';

/** Loaded from node_modules as before. */
const EXTERNAL = [
  // It starts files of its own as threads and processes.
  'embedded-mongodb',
  // Loaded only for a terminal.
  'pino-pretty',
  // Served from its folder.
  'swagger-ui-dist',
  // What Nest and the driver look for and do without.
  '@nestjs/microservices',
  '@nestjs/platform-express',
  '@nestjs/websockets',
  '@fastify/multipart',
  '@fastify/view',
  '@aws-sdk/credential-providers',
  '@mongodb-js/zstd',
  'aws4',
  'gcp-metadata',
  'kerberos',
  'mongodb-client-encryption',
  'snappy',
  'socks',
];

/** The script is a function of what `scripts/bundle/launcher.js` gives it, strict like the modules that it is made of. */
const HEAD = `(function (exports, require, module, __filename, __dirname, importModule) { 'use strict';
const importMetaUrl = require('node:url').pathToFileURL(__filename).href;`;
const FOOT = '})';

/** How long a bundle may take to start. Unit: milliseconds. */
const COMPILE_MS = 60_000;

/** esbuild's function that gives another its name. */
const NAMING = '__name';

rmSync(FOLDER, { recursive: true, force: true });
await build({
  entryPoints: NAMES.map((name) => `dist/${name}.js`),
  outdir: FOLDER,
  outExtension: { '.js': '.cjs' },
  bundle: true,
  format: 'cjs',
  define: { 'import.meta.url': 'importMetaUrl' },
  platform: 'node',
  target: TARGET,
  keepNames: true,
  // The text of the code stays in memory.
  minifyWhitespace: true,
  legalComments: 'none',
  external: EXTERNAL,
  plugins: [{ name: 'validation', setup: onlyWhatIsUsed }],
  banner: { js: HEAD },
  footer: { js: FOOT },
  logLevel: 'warning',
});
cpSync('scripts/bundle/launcher.js', join(FOLDER, 'launcher.js'));
// Where the bundle looks for them.
cpSync('public', 'dist/public', { recursive: true });
const compilations = [];
for (const name of NAMES) {
  finish(join(FOLDER, `${name}.cjs`));
  writeFileSync(
    join(FOLDER, `${name}.js`),
    `import { launch } from './launcher.js';\n\nawait launch('${name}').started;\n`,
  );
  // While the next one is finished.
  compilations.push(compile(name));
}
await Promise.all(compilations);

/**
 * Takes class-validator and class-transformer as modules, of which only what is used is kept: all of class-validator is 321 files and 20 MB,
 * with the telephone numbers of the world. Nest's mapped types, which require both at run time, get the same ones.
 */
function onlyWhatIsUsed({ onLoad, onResolve }) {
  const folder = join(process.cwd(), 'node_modules');
  const moduleOf = (name, file = 'index.js') => ({
    path: join(folder, `class-${name}`, 'esm2015', file),
    sideEffects: false,
  });
  onResolve({ filter: /^class-(validator|transformer)$/ }, ({ path, kind }) => {
    // Only Nest's own ValidationPipe asks for them so, which the service does without.
    if (kind === 'dynamic-import') return { path, external: true };
    return kind === 'require-call' ? { path, namespace: 'required' } : moduleOf(path.slice('class-'.length));
  });
  onResolve({ filter: /^class-transformer(\/cjs)?\/storage(\.js)?$/ }, () =>
    moduleOf('transformer', 'storage.js'),
  );
  onLoad({ filter: /./, namespace: 'required' }, ({ path }) => ({
    contents:
      path === 'class-validator' ? `export { getMetadataStorage, IsOptional } from 'class-validator';` : '',
    resolveDir: folder,
  }));
  onLoad({ filter: /mapped-types.dist.type-helpers\.utils\.js$/ }, ({ path }) => {
    const code = readFileSync(path, 'utf8');
    const own = 'const require = createRequire(import.meta.url);';
    if (!code.includes(own)) throw new Error("Nest's mapped types load class-validator in another way now.");
    return { contents: code.replace(own, '') };
  });
}

/**
 * Finishes a bundle's text. Takes back the calls that give functions within functions their names: they have them from what they are
 * assigned to, and those on the way of every request would be named anew each time. Classes and the functions of a module keep theirs.
 * A script has no `import()` of its own and takes that of its launcher.
 */
function finish(file) {
  const code = readFileSync(file, 'utf8');
  const edits = [];
  const source = ts.createSourceFile(file, code, ts.ScriptTarget.Latest, true);
  ts.forEachChild(source, function visit(node) {
    if (ts.isCallExpression(node)) edits.push(...editsOf(node, source));
    ts.forEachChild(node, visit);
  });
  edits.sort(([one], [other]) => one - other);
  const starts = [0, ...edits.map(([, to]) => to)];
  const ends = [...edits.map(([from]) => from), code.length];
  const texts = [...edits.map(([, , text = '']) => text), ''];
  const edited = starts.map((start, n) => code.slice(start, ends[n]) + texts[n]).join('');
  const options = { target: TARGET, minifyWhitespace: true, lineLimit: 140, charset: 'ascii' };
  writeFileSync(file, transformSync(edited, options).code);
}

/** What to leave out of `__name(<function>, "name")`, or of the statement `__name(name, "name");`, and to put in place of `import`. */
function editsOf(call, source) {
  const { expression } = call;
  if (expression.kind === ts.SyntaxKind.ImportKeyword) {
    return [[expression.getStart(source), expression.getEnd(), 'importModule']];
  }
  if (expression.getText(source) !== NAMING) return [];
  const [named, name] = call.arguments;
  if (ts.isArrowFunction(named) || ts.isFunctionExpression(named)) {
    return [
      [call.getStart(source), call.getStart(source) + NAMING.length],
      [named.getEnd(), call.getEnd() - 1],
    ];
  }
  const same = ts.isIdentifier(named) && named.text === name.text;
  return same && ts.isExpressionStatement(call.parent) ? [[call.getStart(source), call.getEnd()]] : [];
}

/** Compiles a bundle by starting it, with the default settings on an empty embedded database. */
async function compile(name) {
  const folder = mkdtempSync(join(tmpdir(), 'compile-'));
  const { PATH } = process.env;
  const env = {
    PATH,
    NODE_ENV: 'development',
    HOST: '127.0.0.1',
    PORT: '0',
    WORKER_PORT: '0',
    DATA_DIR: folder,
  };
  const child = spawn(process.execPath, ['scripts/bundle/compile.js', name], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: COMPILE_MS,
  });
  const [status] = await once(child, 'close');
  rmSync(folder, { recursive: true, force: true });
  // It works without, and so it must on a machine that the embedded database does not run on.
  if (status !== 0) console.warn(`The bundle "${name}" could not be compiled ahead; its start takes longer.`);
}
