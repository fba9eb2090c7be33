import { readdirSync } from 'node:fs';

const foldersOf = (folder) =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
const features = foldersOf('src').filter((name) => !['common', 'config'].includes(name));
const examples = foldersOf('examples');

/**
 * The rooms of `src`, from those that know nothing to those that know everything. A file may import its own room and those of
 * earlier layers; rooms of one layer do not import each other.
 */
const LAYERS = [
  ['common/ids', 'common/request'],
  ['common/errors', 'common/metrics'],
  ['common/http', 'common/database'],
  ['common/tenancy', 'common/events', 'common/fields', 'common/health'],
  ['common/idempotency'],
  ['common/crud', 'common/server'],
  ['common/notifications'],
  [...features, 'config'],
];
const ROOMS = LAYERS.flat();
const CRUD = 'common/crud';
/** The rooms of the generator, in the same order. Those in one line make responses, and call each other. */
const CRUD_LAYERS = [
  ...[
    'options',
    'schema',
    'search',
    'definition',
    'store',
    'query',
    'routes',
    'platform',
    'audit',
    'service',
  ],
  ['openapi', 'batch', 'pipeline'],
  'testing',
].map((layer) => [layer].flat().map((name) => `${CRUD}/${name}`));
const known = [...ROOMS, ...CRUD_LAYERS.flat()];
const found = ['common', CRUD].flatMap((folder) =>
  foldersOf(`src/${folder}`).map((name) => `${folder}/${name}`),
);
const unknown = found.find((room) => !known.includes(room));
if (unknown) throw new Error(`Give src/${unknown} a layer in scripts/lint/import-zones.js.`);

const inSource = (room) => `./src/${room}`;
const ONE_WAY = 'Imports point one way, see docs/architecture.md.';
const FEATURES =
  'Features do not import each other. Put resources that refer to each other into one folder, see docs/adding-a-resource.md.';
const DOOR = 'Import a room by its index.js.';
const EXAMPLE =
  'An example imports src/common/<room>/index.js, src/app.setup.js, and the index.js of another example.';

/** What may not be imported where: the zones of https://github.com/un-ts/eslint-plugin-import-x, `no-restricted-paths`. */
export const importZones = [
  ...ROOMS.map((room) => {
    const layer = LAYERS.findIndex((rooms) => rooms.includes(room));
    const later = LAYERS.slice(layer).flat();
    const from = later.filter(
      (other) => other !== room && !(features.includes(room) && features.includes(other)),
    );
    return { target: inSource(room), from: [...from.map(inSource), './examples'], message: ONE_WAY };
  }),
  ...CRUD_LAYERS.map((rooms, layer) => {
    const later = CRUD_LAYERS.slice(layer + 1).flat();
    return { target: rooms.map(inSource), from: later.map(inSource), message: ONE_WAY };
  }),
  { target: ROOMS.map(inSource), from: './src/*.ts', message: ONE_WAY },
  { target: './src/app.*.ts', from: './src/!(app.*).ts', message: ONE_WAY },
  { target: ['./src', './examples'], from: './test', message: ONE_WAY },
  ...features.map((feature) => ({
    target: inSource(feature),
    from: features.filter((other) => other !== feature).map(inSource),
    message: FEATURES,
  })),
  // Only start.ts reaches behind the doors, so that the database starts early.
  ...ROOMS.filter((room) => !features.includes(room)).map((room) => ({
    target: ['./src/!(start).ts', ...ROOMS.filter((other) => other !== room).map(inSource), './examples'],
    from: inSource(room),
    except: ['./index.ts'],
    message: DOOR,
  })),
  {
    target: examples.map((example) => `./examples/${example}`),
    from: './src/**',
    except: ['**/src/common/*/index.ts', '**/src/app.setup.ts'],
    message: EXAMPLE,
  },
  ...examples.map((example) => ({
    target: examples.filter((other) => other !== example).map((other) => `./examples/${other}`),
    from: `./examples/${example}`,
    except: ['./index.ts'],
    message: EXAMPLE,
  })),
  // The rule takes no empty lists, as where there is one feature.
].filter(({ target, from }) => target.length > 0 && from.length > 0);
