import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, transformSync } from 'esbuild';
import ts from 'typescript';

/**
 * Joins the built service and its dependencies into few files, `dist/bundle/main.js` and `dist/bundle/worker.js`: reading and
 * linking over 2,000 modules takes most of a start. Functions and classes keep their names, which Nest and the documents use.
 */
const ENTRIES = ['dist/main.js', 'dist/worker.js'];
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

/** CommonJS modules among them ask for modules of Node. */
const REQUIRE = `import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);`;

/** esbuild's function that gives another its name. */
const NAMING = '__name';

rmSync(FOLDER, { recursive: true, force: true });
await build({
  entryPoints: ENTRIES,
  outdir: FOLDER,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: TARGET,
  keepNames: true,
  // The text of the code stays in memory.
  minifyWhitespace: true,
  legalComments: 'none',
  external: EXTERNAL,
  plugins: [{ name: 'validation', setup: onlyWhatIsUsed }],
  banner: { js: REQUIRE },
  logLevel: 'warning',
});
for (const name of readdirSync(FOLDER)) leaveFunctionsUnnamed(join(FOLDER, name));
// Where the bundle looks for them.
cpSync('public', 'dist/public', { recursive: true });

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
 * Takes back the calls that give functions within functions their names: they have them from what they are assigned to, and those on
 * the way of every request would be named anew each time. Classes and the functions of a module keep theirs.
 */
function leaveFunctionsUnnamed(file) {
  const code = readFileSync(file, 'utf8');
  const cuts = [];
  const source = ts.createSourceFile(file, code, ts.ScriptTarget.Latest, true);
  ts.forEachChild(source, function visit(node) {
    if (ts.isCallExpression(node) && node.expression.getText(source) === NAMING)
      cuts.push(...cutsOf(node, source));
    ts.forEachChild(node, visit);
  });
  cuts.sort(([one], [other]) => one - other);
  const starts = [0, ...cuts.map(([, to]) => to)];
  const ends = [...cuts.map(([from]) => from), code.length];
  const left = starts.map((start, n) => code.slice(start, ends[n])).join('');
  writeFileSync(file, transformSync(left, { target: TARGET, minifyWhitespace: true, lineLimit: 140 }).code);
}

/** What to leave out of `__name(<function>, "name")`, or of the statement `__name(name, "name");`. */
function cutsOf(call, source) {
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
