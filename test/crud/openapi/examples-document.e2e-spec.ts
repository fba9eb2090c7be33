/** @slow */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { EXAMPLES_API } from '../../../examples/api.js';
import { ExamplesModule } from '../../../examples/examples.module.js';
import type { JsonSchema } from '../../../src/common/fields/index.js';
import { ACME, tokenOf } from '../../support/tenants.js';
import { createTestApp, type TestApp } from '../../support/test-app.js';

/** Time for a linter or a compiler to start on a busy machine. Unit: milliseconds. */
const TOOL_MS = 120_000;

interface Operation {
  operationId: string;
  security: object[];
  responses: Record<string, object>;
  requestBody?: { content: Record<string, { schema: SharedSchema }> };
}

interface SharedSchema extends JsonSchema {
  $ref?: string;
  allOf?: readonly SharedSchema[];
}

interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, JsonSchema> };
}

let app: TestApp;
let document: Document;
let folder: string;
beforeAll(async () => {
  app = await createTestApp({ root: ExamplesModule.forRoot, api: EXAMPLES_API });
  document = (await app.get('/docs/openapi.json')).body as Document;
  // In the repository, so that what is compiled there finds the packages; git ignores the folder.
  mkdirSync('data', { recursive: true });
  folder = mkdtempSync(resolve('data', 'client-'));
  writeFileSync(join(folder, 'openapi.json'), JSON.stringify(document));
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await app.close();
});

/** Runs a tool of node_modules; its output if it fails. */
function faultsOf(tool: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join('node_modules', tool), ...args], {
    encoding: 'utf8',
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  });
  return status === 0 ? '' : stdout + stderr;
}

const operations = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      route: `${method.toUpperCase()} ${path}`,
      operation,
    })),
  );

/** A schema, found by its name if it is one that others share. */
function resolved(schema: SharedSchema): JsonSchema {
  const { $ref, allOf: [shared] = [], ...rest } = schema;
  if (shared) return { ...resolved(shared), ...rest };
  return $ref === undefined
    ? rest
    : { ...document.components.schemas[$ref.split('/').at(-1) ?? ''], ...rest };
}

const bodyOf = ({ requestBody }: Operation): JsonSchema | undefined =>
  requestBody && resolved(requestBody.content['application/json']?.schema ?? {});

/** Every value that a body may hold, by its path in it. */
function valuesIn(found: SharedSchema, at: string): [string, JsonSchema][] {
  const schema = resolved(found);
  const inside = Object.entries(schema.properties ?? {}).flatMap(([name, member]) =>
    valuesIn(member, `${at}.${name}`),
  );
  const entries = schema.items ? valuesIn(schema.items, `${at}[]`) : [];
  return [[at, schema], ...inside, ...entries];
}

/** Those of queries are not stored. */
const fieldsOfBodies = () =>
  operations().flatMap(({ route, operation }) => {
    const body = bodyOf(operation);
    return body && !route.endsWith('/query') ? valuesIn(body, route).slice(1) : [];
  });

const isBounded = (schema: JsonSchema) =>
  ({
    string: [schema.maxLength, schema.pattern, schema.format, schema.enum].some(
      (bound) => bound !== undefined,
    ),
    number: schema.minimum !== undefined && schema.maximum !== undefined,
    integer: schema.minimum !== undefined && schema.maximum !== undefined,
    array: schema.maxItems !== undefined,
    boolean: true,
    object: schema.additionalProperties !== undefined,
  })[[schema.type].flat()[0] as string] === true;

describe('the document of the examples', () => {
  it('has every route', () => {
    expect(
      operations()
        .map(({ route }) => route)
        .filter((route) => /categories|orders|invoices|comments/.test(route))
        .sort(),
    ).toEqual([
      'DELETE /articles/{articleId}/comments/{id}',
      'DELETE /categories/{id}',
      'GET /articles/{articleId}/comments',
      'GET /articles/{articleId}/comments/count',
      'GET /articles/{articleId}/comments/{id}',
      'GET /categories',
      'GET /categories/count',
      'GET /categories/{id}',
      'GET /invoices',
      'GET /invoices/count',
      'GET /invoices/{id}',
      'GET /orders',
      'GET /orders/count',
      'GET /orders/{id}',
      'PATCH /articles/{articleId}/comments/{id}',
      'PATCH /categories/{id}',
      'PATCH /orders/{id}',
      'POST /articles/{articleId}/comments',
      'POST /articles/{articleId}/comments/query',
      'POST /categories',
      'POST /categories/query',
      'POST /categories/{id}/move',
      'POST /invoices/query',
      'POST /orders',
      'POST /orders/query',
      'POST /orders/{id}/status',
      'PUT /invoices/{id}/address',
    ]);
    const ids = operations().map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('contains the type and the bounds of each input field', () => {
    const unbounded = fieldsOfBodies().filter(([, schema]) => !isBounded(schema));
    expect(unbounded.map(([at]) => at)).toEqual([]);
  });

  it('has an example of each value, unless its type, its default or its members are one', () => {
    const bare = fieldsOfBodies().filter(
      ([at, { example, default: value, enum: values, properties, items }]) =>
        example === undefined &&
        value === undefined &&
        !values &&
        !properties &&
        !items &&
        !at.endsWith('[]'),
    );
    expect(bare.map(([at]) => at)).toEqual([]);
  });

  it('names all fields of a nested, a plain and a mapped class', () => {
    const namesOf = (name: string) => Object.keys(document.components.schemas[name]?.properties ?? {});
    expect(namesOf('ProductCreate')).toEqual([
      'name',
      'price',
      'colour',
      'dimensions',
      'variants',
      'category',
    ]);
    expect(namesOf('EventCreate').sort()).toEqual(['guests', 'length', 'notes', 'place', 'starts', 'title']);
    expect(namesOf('UserCreate').sort()).toEqual(['email', 'name', 'password', 'role']);
    expect(namesOf('UserUpdate').sort()).toEqual(['name', 'password']);
    expect(namesOf('User').sort()).toEqual(['_id', 'email', 'initials', 'name', 'role']);
  });

  it('shows an expandable reference as an identifier or a record', () => {
    const product = {
      oneOf: [expect.objectContaining({ type: 'string' }), { $ref: '#/components/schemas/Product' }],
    };
    const lineOf = (name: string) => document.components.schemas[name]?.properties?.lines?.items?.properties;
    expect(lineOf('OrderExpandable')?.product).toEqual(product);
    expect(lineOf('Order')?.product).toMatchObject({ type: 'string' });
    const list = document.paths['/orders']?.get as unknown as {
      parameters: { name: string }[];
      responses: Record<string, { content: object }>;
    };
    expect(list.parameters.find(({ name }) => name === 'expand')).toMatchObject({
      in: 'query',
      style: 'form',
      explode: false,
      schema: { type: 'array', items: { type: 'string', enum: ['lines.product'] } },
    });
    expect(list.responses['200']?.content).toEqual({
      'application/json': { schema: { $ref: '#/components/schemas/OrderPage' } },
      'application/x-ndjson': {
        schema: {
          anyOf: [
            { $ref: '#/components/schemas/OrderExpandable' },
            { $ref: '#/components/schemas/OrderExpandablePart' },
          ],
        },
      },
      'text/csv': { schema: { type: 'string' } },
    });
    expect(Object.keys(document.components.schemas)).not.toContain('EventExpandable');
  });

  it('lets null remove the optional fields of an update, and only those', () => {
    const nullable = Object.entries(document.components.schemas)
      .filter(([name]) => name.endsWith('Update'))
      .map(([name, { properties = {} }]) => [
        name,
        Object.keys(properties)
          .filter((field) => [properties[field]?.type].flat().includes('null' as never))
          .sort(),
      ]);
    expect(Object.fromEntries(nullable)).toEqual({
      AccountUpdate: [],
      ArticleUpdate: ['text'],
      CategoryUpdate: [],
      CommentUpdate: [],
      EventUpdate: ['guests', 'length', 'notes', 'place'],
      ExpenseUpdate: [],
      OrderUpdate: ['note'],
      PriceRuleUpdate: ['days', 'from', 'until'],
      ProductUpdate: ['category', 'colour', 'dimensions'],
      ProfileUpdate: ['name', 'newsletter'],
      RoomUpdate: [],
      SubscriptionUpdate: ['description', 'enabled'],
      TodoUpdate: ['done', 'due'],
      UserUpdate: [],
    });
  });

  it('lists the errors of every route', () => {
    const errorsOf = (route: string) =>
      Object.keys(operations().find((found) => found.route === route)?.operation.responses ?? {})
        .filter((status) => status >= '400')
        .join(' ');
    expect(errorsOf('GET /articles')).toBe('400 429 500 503');
    expect(errorsOf('POST /users')).toBe('400 401 403 409 413 415 422 429 500 503');
    expect(errorsOf('POST /categories/{id}/move')).toBe(
      '400 401 403 404 409 412 413 414 415 422 429 500 503',
    );
    expect(errorsOf('POST /orders/{id}/status')).toBe('400 401 403 404 409 412 413 414 415 422 429 500 503');
    expect(errorsOf('PUT /invoices/{id}/address')).toBe('400 401 403 404 409 412 413 414 415 429 500 503');
    expect(errorsOf('DELETE /products/{id}')).toBe('400 401 403 404 409 412 414 429 500 503');
    const ofGuard = operations().find(({ route }) => route === 'POST /users')?.operation.responses['403'];
    expect(ofGuard).toMatchObject({ description: 'Forbidden, or Insufficient scope, or Tenant required' });
    for (const { route, operation } of operations()) {
      const statuses = Object.keys(operation.responses);
      const ofToken = operation.security.length > 0 ? ['401', '403'] : [];
      const ofBody = operation.requestBody ? ['413', '415'] : [];
      const ofId = route.includes('{') ? ['404'] : [];
      const expected = ['400', ...ofToken, ...ofId, ...ofBody, '500', '503'];
      expect([route, expected.filter((status) => !statuses.includes(status))]).toEqual([route, []]);
    }
  });

  it(
    'passes the linter',
    () => {
      const file = join(folder, 'openapi.json');
      expect(faultsOf('@redocly/cli/bin/cli.js', 'lint', '--config', 'redocly.yaml', file)).toBe('');
    },
    TOOL_MS,
  );
});

it(
  'a typed client that is generated from the document compiles, refuses wrong uses, and drives the examples',
  async () => {
    const [schema, types] = [join(folder, 'openapi.json'), join(folder, 'api.ts')];
    const options = ['--default-non-nullable=false', '--output', types];
    expect(faultsOf('openapi-typescript/bin/cli.js', schema, ...options)).toBe('');
    copyFileSync('test/fixtures/examples-client/client.ts', join(folder, 'client.ts'));
    const compilerOptions = {
      ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
      ...{ module: 'nodenext', target: 'es2022', lib: ['ES2022', 'DOM', 'DOM.Iterable'], types: [] },
      ...{ rootDir: '.', outDir: '.' },
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['client.ts'] }));
    expect(faultsOf('typescript/bin/tsc', '--project', folder)).toBe('');
    const { drive } = (await import(join(folder, 'client.js'))) as {
      drive: (url: string, token: string) => Promise<object>;
    };
    expect(await drive(app.url, await tokenOf(ACME, { sub: 'ada', role: 'admin' }))).toEqual({
      moved: ['shoes', true],
      circle: 'CONFLICT',
      price: '89.90',
      colour: undefined,
      total: '179.80',
      again: 'An order that is paid cannot be paid.',
      bought: 'Trail shoe',
      page: ['paid'],
      comments: ['ada'],
      initials: 'AL',
      todos: 1,
      notes: { dress: 'casual' },
      invoice: 'Cambridge',
    });
  },
  TOOL_MS,
);
