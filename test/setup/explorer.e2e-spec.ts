import { All, Controller, Delete, Get, Head, Module, Options, Patch, Post, Put } from '@nestjs/common';
import { ApiBearerAuth } from '@nestjs/swagger';
import { useResourceApp } from '../support/resource-app.js';
import { useTestApp } from '../support/test-app.js';

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

@Module({ controllers: [ShelvesController] })
class ShelvesModule {}

describe('the OpenAPI document', () => {
  const app = useResourceApp({ module: ShelvesModule });
  let paths: Record<string, Record<string, { security?: object[] }>>;
  beforeAll(async () => {
    paths = (await app.get('/docs/openapi.json')).body.paths;
  });

  it('lists every path and every method', () => {
    expect(Object.keys(paths).sort()).toEqual(['/shelves', '/shelves/anything', '/shelves/closed']);
    const methodsOf = (path: string) => Object.keys(paths[path] ?? {}).sort();
    expect(methodsOf('/shelves')).toEqual(['delete', 'get', 'options', 'patch', 'post', 'put']);
    expect(methodsOf('/shelves/closed')).toEqual(['head']);
    expect(methodsOf('/shelves/anything')).toEqual(
      expect.arrayContaining(['post', 'get', 'put', 'patch', 'delete', 'head', 'options']),
    );
  });

  it('says for each operation whether it needs a token', () => {
    const security = Object.entries(paths['/shelves'] ?? {}).map(([name, one]) => [name, one.security]);
    const open = { post: [], get: [], patch: [], delete: [], options: [] };
    expect(Object.fromEntries(security)).toEqual({ ...open, put: [{ bearer: [] }] });
  });
});

describe('the explorer of a service', () => {
  const app = useTestApp({ env: { DOCS: 'off' } });

  it('does not exist with DOCS=off', async () => {
    const documents = ['openapi.json', 'openapi.yaml', 'live', 'live/script.js'];
    for (const path of ['/docs', ...documents.map((name) => `/docs/${name}`)])
      expect((await fetch(app.url + path)).status).toBe(404);
    expect((await fetch(`${app.url}/todos`)).status).toBe(200);
  });

  it('is mentioned in no answer with DOCS=off', async () => {
    await app.database.collection('todos').insertMany([{ title: 'Tea' }, { title: 'Cake' }]);
    const headers = { Accept: 'text/html, application/json', Authorization: 'Bearer none' };
    const missing = '/ /api /api-json /docs /docs/live /docs/openapi.json /todos/ /no/such'.split(' ');
    for (const [method, path, status] of [
      ...missing.map((path) => ['GET', path, 404] as const),
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
});
