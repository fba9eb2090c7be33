/** @slow */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { EXAMPLES_API } from '../../../examples/api.js';
import { ExamplesModule } from '../../../examples/examples.module.js';
import type { JsonSchema } from '../../../src/common/fields/index.js';
import { runNode, TOOLS_MS } from '../../support/run.js';
import { ACME, tokenOf } from '../../support/tenants.js';
import { createTestApp, type TestApp } from '../../support/test-app.js';

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
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const { status, stdout, stderr } = runNode([join('node_modules', tool), ...args], { env });
  return status === 0 ? '' : stdout + stderr;
}

const operations = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, one]) => ({ route: `${method.toUpperCase()} ${path}`, ...one })),
  );

/** A schema, found by its name if it is one that others share. */
function resolved(schema: SharedSchema): JsonSchema {
  const { $ref, allOf: [shared] = [], ...rest } = schema;
  if (shared) return { ...resolved(shared), ...rest };
  return { ...document.components.schemas[$ref?.split('/').at(-1) ?? ''], ...rest };
}

/** Every value that a body may hold, by its path in it. */
function valuesIn(found: SharedSchema, at: string): [string, JsonSchema][] {
  const schema = resolved(found);
  const members = Object.entries(schema.properties ?? {});
  const inside = members.flatMap(([name, member]) => valuesIn(member, `${at}.${name}`));
  return [[at, schema], ...inside, ...(schema.items ? valuesIn(schema.items, `${at}[]`) : [])];
}

/** Those of queries are not stored. */
const fieldsOfBodies = () =>
  operations().flatMap(({ route, requestBody }) => {
    const body = requestBody?.content['application/json']?.schema;
    return body && !route.endsWith('/query') ? valuesIn(body, route).slice(1) : [];
  });

const has = (schema: JsonSchema, ...bounds: (keyof JsonSchema)[]) =>
  bounds.filter((bound) => schema[bound] !== undefined).length;
function isBounded(schema: JsonSchema): boolean {
  const type = [schema.type].flat()[0] as string;
  if (type === 'string') return has(schema, 'maxLength', 'pattern', 'format', 'enum') > 0;
  if (type === 'number' || type === 'integer') return has(schema, 'minimum', 'maximum') === 2;
  if (type === 'array') return has(schema, 'maxItems') === 1;
  return type === 'boolean' || (type === 'object' && has(schema, 'additionalProperties') === 1);
}

describe('the document of the examples', () => {
  it('has every route', () => {
    const listed = Object.entries(document.paths)
      .filter(([path]) => /orders|invoices|comments/.test(path))
      .map(([path, methods]) => `${path} ${Object.keys(methods).sort().join(' ')}`);
    expect(listed.sort()).toEqual([
      '/articles/{articleId}/comments get post',
      '/articles/{articleId}/comments/count get',
      '/articles/{articleId}/comments/query post',
      '/articles/{articleId}/comments/{id} delete get patch',
      '/invoices get',
      '/invoices/count get',
      '/invoices/query post',
      '/invoices/{id} get',
      '/invoices/{id}/address put',
      '/orders get post',
      '/orders/count get',
      '/orders/query post',
      '/orders/{id} get patch',
      '/orders/{id}/status post',
    ]);
    const ids = operations().map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('contains the type and the bounds of each input field', () => {
    const unbounded = fieldsOfBodies().filter(([, schema]) => !isBounded(schema));
    expect(unbounded.map(([at]) => at)).toEqual([]);
  });

  it('has an example of each value, unless its type, its default or its members are one', () => {
    const bare = fieldsOfBodies().filter(
      ([at, schema]) =>
        has(schema, 'example', 'default', 'enum', 'properties', 'items') === 0 && !at.endsWith('[]'),
    );
    expect(bare.map(([at]) => at)).toEqual([]);
  });

  it('lists the errors of every route', () => {
    const found = (route: string) => operations().find((one) => one.route === route)?.responses ?? {};
    const errorsOf = (route: string) =>
      Object.keys(found(route))
        .filter((status) => status >= '400')
        .join(' ');
    const ofWrites = '400 401 403 404 409 412 413 414 415 422 429 500 503';
    expect(errorsOf('GET /articles')).toBe('400 429 500 503');
    expect(errorsOf('POST /users')).toBe('400 401 403 409 413 415 422 429 500 503');
    expect(errorsOf('POST /categories/{id}/move')).toBe(ofWrites);
    expect(errorsOf('POST /orders/{id}/status')).toBe(ofWrites);
    expect(errorsOf('PUT /invoices/{id}/address')).toBe(ofWrites.replace('422 ', ''));
    expect(errorsOf('DELETE /products/{id}')).toBe('400 401 403 404 409 412 414 429 500 503');
    const description = 'Forbidden, or Insufficient scope, or Tenant required';
    expect(found('POST /users')['403']).toMatchObject({ description });
    for (const { route, security, requestBody, responses } of operations()) {
      const ofToken = security.length > 0 ? [401, 403] : [];
      const ofBody = requestBody ? [413, 415] : [];
      const ofId = route.includes('{') ? [404] : [];
      const expected = [400, ...ofToken, ...ofId, ...ofBody, 500, 503];
      expect([route, expected.filter((status) => !(status in responses))]).toEqual([route, []]);
    }
  });

  it(
    'passes the linter',
    () => {
      const file = join(folder, 'openapi.json');
      expect(faultsOf('@redocly/cli/bin/cli.js', 'lint', '--config', 'redocly.yaml', file)).toBe('');
    },
    TOOLS_MS,
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
    expect(await drive(app.url, tokenOf(ACME, { sub: 'ada', role: 'admin' }))).toEqual({
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
      notes: { dress: 'casual' },
    });
  },
  TOOLS_MS,
);
