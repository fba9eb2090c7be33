import { dirname, join, relative, sep } from 'node:path';

/**
 * The rooms of the repository, from those that know nothing to those that know everything. A file may import
 * its own room and those of earlier layers; rooms of one layer must not import each other. `feature` is every
 * folder of `src` that is not named here, and `example` every folder of `examples`.
 */
const LAYERS = [
  ['common/ids', 'common/request'],
  ['common/errors', 'common/metrics'],
  ['common/http', 'common/database'],
  ['common/tenancy', 'common/events', 'common/fields', 'common/health'],
  ['common/idempotency'],
  ['common/crud', 'common/server'],
  ['common/notifications'],
  ['feature', 'config'],
  ['app'],
  ['example', 'main'],
  ['examples'],
];

/**
 * The files that an example may import, since its readers have to know them. Examples refer to each other's
 * records through an index. The files next to the folders start the examples.
 */
const EXAMPLE_FILES = /^src\/(?:common\/[^/]+\/index|app\.setup)\.js$|^examples\/[^/]+\/index\.js$/;
const EXAMPLES_FILES = /^src\/(?:(?:common\/[^/]+|config)\/index|app\.setup|start)\.js$|^examples\//;

/**
 * Files inside other rooms that start.ts may import. Loading a whole room first would delay the embedded
 * database, which starts while the rest is loaded.
 */
const FIRST_FILES =
  /^src\/(?:config\/[^/]+|common\/(?:database\/database-server|errors\/log-text|http\/pino-logger))\.js$/;
const FIRST_IMPORTER = 'src/start.ts';

/** The room of a file, by its path from the root; undefined outside `src` and `examples`. */
function roomOf(path) {
  const [top, folder, inner, ...rest] = path.split('/');
  if (top === 'examples') return inner === undefined ? 'examples' : `examples/${folder}`;
  if (top !== 'src') return undefined;
  if (inner === undefined) return folder.startsWith('app.') ? 'app' : 'main';
  if (folder === 'common') return rest.length > 0 ? `common/${inner}` : 'common';
  return folder;
}

function layerOf(room) {
  const known = LAYERS.findIndex((rooms) => rooms.includes(room));
  if (known !== -1 || room.startsWith('common')) return known;
  const kind = room.startsWith('examples/') ? 'example' : 'feature';
  return LAYERS.findIndex((rooms) => rooms.includes(kind));
}

const FEATURES = LAYERS.findIndex((rooms) => rooms.includes('feature'));

function isFeature(room) {
  return layerOf(room) === FEATURES && !LAYERS.flat().includes(room);
}

/** The fault of an import, as the id of a message, if there is one. Both paths are relative to the root. */
function faultOf(file, imported) {
  const [from, to] = [roomOf(file), roomOf(imported)];
  if (from === undefined || from === to) return undefined;
  if (to === undefined) return 'outside';
  if (from.startsWith('examples/')) return EXAMPLE_FILES.test(imported) ? undefined : 'example';
  if (from === 'examples') return EXAMPLES_FILES.test(imported) ? undefined : 'example';
  const [own, other] = [layerOf(from), layerOf(to)];
  if (own === -1 || other === -1) return 'unknown';
  if (isFeature(from) && isFeature(to)) return 'feature';
  if (other >= own) return 'direction';
  if (file === FIRST_IMPORTER && FIRST_FILES.test(imported)) return undefined;
  const hasDoor = to.startsWith('common/') || to === 'config';
  return hasDoor && imported !== `src/${to}/index.js` ? 'door' : undefined;
}

/** Rejects imports in the wrong direction, or past a room's index. Compares paths, whether or not the files exist. */
export const importDirections = {
  meta: {
    type: 'problem',
    schema: [],
    messages: {
      direction: '{{from}} may not import {{to}}: imports point one way, see docs/architecture.md.',
      feature:
        '{{from}} may not import {{to}}: features do not import each other. Put resources that refer to each other into one folder, see docs/adding-a-resource.md.',
      door: 'Import {{to}} by its index.js.',
      example:
        'An example may import src/common/<room>/index.js, src/app.setup.js and the index.js of another example, and nothing else.',
      outside: 'src and examples may not import {{path}}.',
      unknown: '{{from}} and {{to}} must both have a layer in scripts/lint/import-directions.js.',
    },
  },
  create(context) {
    const file = relative(context.cwd, context.filename).replaceAll(sep, '/');
    const check = (source) => {
      if (typeof source?.value !== 'string' || !source.value.startsWith('.')) return;
      const path = join(dirname(file), source.value).replaceAll(sep, '/');
      const messageId = faultOf(file, path);
      const data = { from: roomOf(file), to: roomOf(path), path };
      if (messageId) context.report({ node: source, messageId, data });
    };
    return {
      ImportDeclaration: ({ source }) => check(source),
      ImportExpression: ({ source }) => check(source),
      ExportAllDeclaration: ({ source }) => check(source),
      ExportNamedDeclaration: ({ source }) => check(source),
      TSImportType: ({ source }) => check(source),
    };
  },
};
