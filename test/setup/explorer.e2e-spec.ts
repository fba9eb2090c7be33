import { All, Controller, Delete, Get, Head, Options, Patch, Post, Put } from '@nestjs/common';
import { ApiBearerAuth } from '@nestjs/swagger';
import { useResourceApp } from '../support/resource-app.js';
import { acme } from '../support/tenants.js';
import { createTestApp, type TestRequest, useTestApp } from '../support/test-app.js';

const NOWHERE = '665f1c2ab7e3a90d4c8b4567';
const PROBLEM = 'application/problem+json';

@Controller('shelves')
class ShelvesController {
  @Options() options(): void {}
  @Head('closed') head(): void {}
  @Delete() remove(): void {}
  @Patch() change(): void {}
  @Put() @ApiBearerAuth() replace(): void {}
  @Get() list(): void {}
  @Post() add(): void {}
  @All('anything') anything(): void {}
}

class ShelvesModule {}

describe('the OpenAPI document', () => {
  const app = useResourceApp({ module: ShelvesModule, controllers: [ShelvesController] });
  let paths: Record<string, Record<string, { security?: object[] }>>;
  beforeAll(async () => void (paths = (await app.get('/docs/openapi.json')).body.paths));

  it('lists every path and every method', () => {
    expect(Object.keys(paths).sort()).toEqual(['/shelves', '/shelves/anything', '/shelves/closed']);
    const methodsOf = (path: string) => Object.keys(paths[path] ?? {}).sort();
    const all = ['delete', 'get', 'options', 'patch', 'post', 'put'];
    expect(methodsOf('/shelves')).toEqual(all);
    expect(methodsOf('/shelves/closed')).toEqual(['head']);
    expect(methodsOf('/shelves/anything')).toEqual(expect.arrayContaining([...all, 'head']));
  });

  it('says for each operation whether it needs a token', () => {
    const security = Object.entries(paths['/shelves'] ?? {}).map(([name, one]) => [name, one.security]);
    const open = { post: [], get: [], patch: [], delete: [], options: [] };
    expect(Object.fromEntries(security)).toEqual({ ...open, put: [{ bearer: [] }] });
  });
});

interface Operation {
  summary: string;
  parameters: { name: string; in: string; schema: { example?: unknown; default?: unknown } }[];
  responses: Record<string, { content?: Record<string, { examples?: Record<string, { value: object }> }> }>;
}

describe('the explorer', () => {
  const app = useTestApp();
  let paths: Record<string, Record<string, Operation>>;
  beforeAll(async () => void (paths = (await app.get('/docs/openapi.json')).body.paths));
  const operations = () =>
    Object.entries(paths).flatMap(([path, item]) => Object.values(item).map((one) => ({ path, ...one })));

  const TEXT = { headers: { 'Content-Type': 'text/plain' } };
  it.each<[string, string, TestRequest?]>([
    ['get', '/todos/{id}'],
    ['post', '/posts/api', { body: { title: 'Hello' } }],
    ['post', '/posts/api', { body: { title: 'Hello' }, token: 'wrong' }],
    ['post', '/todos', { body: 'title', ...TEXT }],
    ['post', '/todos', { body: '{' }],
    ['post', '/todos/import', { body: '{}' }],
    ['patch', '/todos/{id}', { body: 'x', ...TEXT }],
    ['get', '/todos/count?colour=red'],
  ])('has the true answer as the example of %s %s', async (method, target, request) => {
    const answer = await app.request(method.toUpperCase(), target.replace('{id}', NOWHERE), request);
    const path = target.replace(/\?.*/, '');
    const content = paths[path]?.[method]?.responses[answer.status]?.content?.[PROBLEM];
    const example = content?.examples?.[answer.body.code]?.value;
    if (answer.body.code === 'VALIDATION_FAILED') {
      expect(example).toMatchObject({ status: 400, code: 'VALIDATION_FAILED', instance: path });
    } else expect({ ...example, requestId: '' }).toEqual({ ...answer.body, requestId: '' });
  });

  it('has a separate example for every documented error', () => {
    for (const { path, responses } of operations())
      for (const [status, { content }] of Object.entries(responses)) {
        const examples = Object.entries(content?.[PROBLEM]?.examples ?? {});
        expect(examples.length > 0).toBe(content?.[PROBLEM] !== undefined);
        const instance = path.replaceAll(/\{\w+\}/g, NOWHERE);
        for (const [code, { value }] of examples)
          expect(value).toMatchObject({ code, status: Number(status), instance });
      }
  });

  it('does not prefill an id, since no record has it', () => {
    const ids = operations().flatMap(({ parameters }) => parameters.filter((one) => one.in === 'path'));
    expect(ids.length).toBeGreaterThan(5);
    expect(ids.filter(({ schema }) => schema.example !== undefined)).toEqual([]);
  });

  it('documents the error for a path segment that is too long, and that limit has no default without a page', async () => {
    expect((await app.get(`/todos/${'a'.repeat(200)}`)).status).toBe(414);
    expect(paths['/todos/{id}']?.get?.responses).toHaveProperty('414');
    const limit = paths['/todos']?.get?.parameters.find(({ name }) => name === 'limit');
    expect(limit?.schema.default).toBeUndefined();
  });

  it('documents that archiving answers the same if there is no such post', async () => {
    expect(paths['/posts/api/{id}']?.delete?.summary).toContain('the same if your tenant has no such post');
    expect((await app.del(`/posts/api/${NOWHERE}`, { token: acme })).body).toEqual({ archived: true });
  });

  it('starts folded, without the top bar of Swagger', async () => {
    expect((await app.get('/docs')).text).toContain('.swagger-ui .topbar');
    expect((await app.get('/docs/swagger-ui-init.js')).text).toContain('"defaultModelsExpandDepth": 0');
  });

  it('has files that a browser keeps for a day, and a page that it revalidates', async () => {
    for (const name of ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png']) {
      const { status, headers } = await app.get(`/docs/${name}`);
      expect([status, headers.get('cache-control')]).toEqual([200, 'public, max-age=86400']);
      expect(headers.get('etag')).toMatch(/^(W\/)?"/);
    }
    for (const path of ['/docs', '/docs/swagger-ui-init.js', '/docs/nothing.js'])
      expect((await app.get(path)).headers.get('cache-control') ?? '').not.toContain('max-age=86400');
  });

  it('is where the root redirects browsers; for other clients the root does not exist', async () => {
    const page = await app.get('/', { headers: { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } });
    expect([page.status, page.headers.get('location')]).toEqual([302, '/docs']);
    const { status, body, headers } = await app.get('/');
    expect([status, body.code, headers.get('vary')]).toEqual([404, 'PATH_NOT_FOUND', 'Accept']);
  });

  it('shows a command for a token that can be pasted unchanged', async () => {
    const { bearer } = (await app.get('/docs/openapi.json')).body.components.securitySchemes;
    expect(bearer.description).toContain('`npm run token -- --tenant 665f1c2ab7e3a90d4c8b0001`');
  });
});

it('with DOCS=off, the explorer does not exist and is mentioned in no answer', async () => {
  await using app = await createTestApp({ env: { DOCS: 'off' } });
  await app.database.collection('todos').insertMany([{ title: 'Tea' }, { title: 'Cake' }]);
  const headers = { Accept: 'text/html, application/json', Authorization: 'Bearer none' };
  const documents = ['', '/openapi.json', '/openapi.yaml', '/live', '/live/script.js'];
  for (const [method, path, status] of [
    ...documents.map((name) => ['GET', `/docs${name}`, 404] as const),
    ...['/', '/api', '/api-json', '/todos/', '/no/such'].map((path) => ['GET', path, 404] as const),
    ['GET', '/todos?limit=1', 200],
    ['GET', '/todos/7', 400],
    ['PUT', '/todos', 405],
    ['POST', '/posts/api', 401],
    ['GET', '/events', 401],
  ] as const) {
    const response = await fetch(app.url + path, { method, headers, redirect: 'manual' });
    const text = await response.text();
    expect([method, path, response.status]).toEqual([method, path, status]);
    const said = text.replaceAll(`"instance":"${path}`, '') + JSON.stringify([...response.headers]);
    expect(said).not.toMatch(/docs|openapi|explorer/);
    if (status === 404) expect(text).toContain('"detail":"There is no such path. Check it."');
  }
});
