import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';

/**
 * Joins the built service and its dependencies into one script each for `dist/bundle/main.js` and
 * `dist/bundle/worker.js`: reading and linking over 2,000 modules takes most of a start. Functions and
 * classes keep their names, which Nest and the documents use.
 */
const NAMES = ['main', 'worker'];
const FOLDER = 'dist/bundle';
const TARGET = 'node20';

/** Packages that are still loaded from node_modules. */
const EXTERNAL = [
  // It starts its own files as threads and processes.
  'nestjs-mongo-crud-embedded',
  // Loaded only for a terminal.
  'pino-pretty',
  // Served from its folder.
  'swagger-ui-dist',
  // Optional packages that Nest and the driver look for.
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

/** The script is a function of the values that `scripts/bundle/launcher.js` passes, strict like the modules in it. */
const HEAD = `(function (exports, require, module, __filename, __dirname, importModule) { 'use strict';
const importMetaUrl = require('node:url').pathToFileURL(__filename).href;`;
const FOOT = '})';

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
  // Whitespace in the code would stay in memory.
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
for (const name of NAMES) {
  writeFileSync(
    join(FOLDER, `${name}.js`),
    `import '../check-node.js';\nimport { launch } from './launcher.js';\n\nawait launch('${name}').started;\n`,
  );
}
// At the same time.
const finished = NAMES.map((name) =>
  once(spawn(process.execPath, ['scripts/bundle/finish.js', name], { stdio: 'inherit' }), 'close'),
);
if ((await Promise.all(finished)).some(([status]) => status !== 0)) process.exit(1);

/**
 * Includes only the used modules of class-validator and class-transformer: all of class-validator is 321 files and 20 MB, with
 * the world's telephone numbers. Nest's mapped types, which require both at run time, get the same modules.
 */
function onlyWhatIsUsed({ onLoad, onResolve }) {
  const folder = join(process.cwd(), 'node_modules');
  const moduleOf = (name, file = 'index.js') => ({
    path: join(folder, `class-${name}`, 'esm2015', file),
    sideEffects: false,
  });
  onResolve({ filter: /^class-(validator|transformer)$/ }, ({ path, kind }) => {
    // Only Nest's own ValidationPipe, which the service does not use, imports them dynamically.
    if (kind === 'dynamic-import') return { path, external: true };
    return kind === 'require-call' ? { path, namespace: 'required' } : moduleOf(path.slice('class-'.length));
  });
  onResolve({ filter: /^class-transformer(\/cjs)?\/storage(\.js)?$/ }, () =>
    moduleOf('transformer', 'storage.js'),
  );
  // The bundle's own first import has checked it.
  onLoad({ filter: /dist.check-node\.js$/ }, () => ({ contents: '' }));
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
