import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';

/**
 * Joins the built service and its dependencies into few files, `dist/bundle/main.js` and `dist/bundle/worker.js`: reading and
 * linking over 2,000 modules takes most of a start. Functions and classes keep their names, which Nest and the documents use.
 */
const ENTRIES = ['dist/main.js', 'dist/worker.js'];
const FOLDER = 'dist/bundle';

/** Loaded from node_modules as before. */
const EXTERNAL = [
  // Nest loads these from node_modules, too, and both must see the same decorators.
  'class-transformer',
  'class-validator',
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

/** CommonJS modules among them ask for modules of Node. */
const REQUIRE = `import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);`;

/** Gives a function its name back, at each call of what contains it; few have lost theirs. */
const NAMING = '__defProp(target,"name",{value,configurable:true})';

rmSync(FOLDER, { recursive: true, force: true });
await build({
  entryPoints: ENTRIES,
  outdir: FOLDER,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  keepNames: true,
  // The text of the code stays in memory.
  minifyWhitespace: true,
  lineLimit: 140,
  legalComments: 'none',
  external: EXTERNAL,
  banner: { js: REQUIRE },
  logLevel: 'warning',
});
nameOnlyTheNameless();
// Where the bundle looks for them.
cpSync('public', 'dist/public', { recursive: true });

/** Most functions have their name still, and those on the way of every request should not be given it anew. */
function nameOnlyTheNameless() {
  const files = readdirSync(FOLDER).map((name) => join(FOLDER, name));
  const [file, ...others] = files.filter((name) => readFileSync(name, 'utf8').includes(NAMING));
  if (file === undefined || others.length > 0) throw new Error('esbuild names functions in another way now.');
  const code = readFileSync(file, 'utf8');
  writeFileSync(file, code.replace(NAMING, `target.name===value?target:${NAMING}`));
}
