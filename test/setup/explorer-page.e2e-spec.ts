import { acme } from '../support/tenants.js';
import { type TestRequest, useTestApp } from '../support/test-app.js';

const NOWHERE = '665f1c2ab7e3a90d4c8b4567';

interface Operation {
  summary: string;
  parameters: { name: string; in: string; schema: { example?: unknown; default?: unknown } }[];
  responses: Record<string, { content?: Record<string, { examples?: Record<string, { value: object }> }> }>;
}

describe('the explorer', () => {
  const app = useTestApp();
  let paths: Record<string, Record<string, Operation>>;
  beforeAll(async () => {
    paths = (await app.get('/docs/openapi.json')).body.paths;
  });

  const TEXT = { headers: { 'Content-Type': 'text/plain' } };
  it.each<[string, string, TestRequest?]>([
    ['get', '/todos/{id}'],
    ['delete', '/todos/{id}'],
    ['get', '/posts/api/{id}'],
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
    const content = paths[path]?.[method]?.responses[answer.status]?.content?.['application/problem+json'];
    const example = content?.examples?.[answer.body.code]?.value;
    if (answer.body.code === 'VALIDATION_FAILED') {
      expect(example).toMatchObject({ status: 400, code: 'VALIDATION_FAILED', instance: path });
    } else expect({ ...example, requestId: '' }).toEqual({ ...answer.body, requestId: '' });
  });

  it('has a separate example for every documented error', () => {
    for (const [path, item] of Object.entries(paths)) {
      for (const operation of Object.values(item)) {
        for (const [status, { content }] of Object.entries(operation.responses)) {
          const problem = content?.['application/problem+json'];
          if (!problem) continue;
          const examples = Object.entries(problem.examples ?? {});
          expect(examples.length).toBeGreaterThan(0);
          for (const [code, { value }] of examples) {
            const instance = path.replaceAll(/\{\w+\}/g, NOWHERE);
            expect(value).toMatchObject({ code, status: Number(status), instance });
          }
        }
      }
    }
  });

  it('does not prefill an id, since no record has it', () => {
    const ids = Object.values(paths)
      .flatMap((item) => Object.values(item))
      .flatMap(({ parameters }) => parameters.filter((parameter) => parameter.in === 'path'));
    expect(ids.length).toBeGreaterThan(5);
    expect(ids.filter(({ schema }) => schema.example !== undefined)).toEqual([]);
  });

  it('documents the error for a path segment that is too long, and that limit has no default without a page', async () => {
    const { status } = await app.get(`/todos/${'a'.repeat(200)}`);
    expect([status, Object.keys(paths['/todos/{id}']?.get?.responses ?? {})]).toEqual([
      414,
      expect.arrayContaining(['414']),
    ]);
    const limit = paths['/todos']?.get?.parameters.find(({ name }) => name === 'limit');
    expect(limit?.schema.default).toBeUndefined();
  });

  it('documents that archiving answers the same if there is no such post', async () => {
    expect(paths['/posts/api/{id}']?.delete?.summary).toContain('the same if your tenant has no such post');
    expect((await app.del(`/posts/api/${NOWHERE}`, { token: acme })).body).toEqual({ archived: true });
  });

  it('starts folded, without the top bar of Swagger', async () => {
    const [page, script] = [await app.get('/docs'), await app.get('/docs/swagger-ui-init.js')];
    expect(page.text).toContain('.swagger-ui .topbar');
    expect(script.text).toContain('"defaultModelsExpandDepth": 0');
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
    const other = await app.get('/');
    const told = [other.status, other.body.code, other.headers.get('vary')];
    expect(told).toEqual([404, 'PATH_NOT_FOUND', 'Accept']);
  });

  it('shows a command for a token that can be pasted unchanged', async () => {
    const { bearer } = (await app.get('/docs/openapi.json')).body.components.securitySchemes;
    expect(bearer.description).toContain('`npm run token -- --tenant 665f1c2ab7e3a90d4c8b0001`');
  });
});
