import { All, Controller, Delete, Get, Head, Module, Options, Patch, Post, Put } from '@nestjs/common';
import { ApiBearerAuth } from '@nestjs/swagger';
import { useResourceApp } from '../support/resource-app.js';
import { createTestApp } from '../support/test-app.js';

@Controller('shelves')
class ShelvesController {
  @Options()
  options(): void {}

  @Head('closed')
  head(): void {}

  @Delete()
  remove(): void {}

  @Patch()
  change(): void {}

  @Put()
  @ApiBearerAuth()
  replace(): void {}

  @Get()
  list(): void {}

  @Post()
  add(): void {}

  @All('anything')
  anything(): void {}
}

@Module({ controllers: [ShelvesController] })
class ShelvesModule {}

describe('the OpenAPI document', () => {
  const app = useResourceApp({ module: ShelvesModule });
  let paths: Record<string, Record<string, { security?: object[] }>>;
  beforeAll(async () => {
    paths = (await app.get('/docs/openapi.json')).body.paths;
  });

  it('lists every path by its name', () => {
    expect(Object.keys(paths)).toEqual(['/shelves', '/shelves/anything', '/shelves/closed']);
  });

  it('lists every method of a path, in a fixed order', () => {
    expect(Object.keys(paths['/shelves'] ?? {}).join(' ')).toBe('post get put patch delete options');
    expect(Object.keys(paths['/shelves/closed'] ?? {})).toEqual(['head']);
    expect(Object.keys(paths['/shelves/anything'] ?? {})).toEqual(
      expect.arrayContaining(['post', 'get', 'put', 'patch', 'delete', 'head', 'options']),
    );
  });

  it('says for each operation whether it needs a token', () => {
    const security = Object.entries(paths['/shelves'] ?? {}).map(([name, one]) => [name, one.security]);
    expect(Object.fromEntries(security)).toEqual({
      post: [],
      get: [],
      put: [{ bearer: [] }],
      patch: [],
      delete: [],
      options: [],
    });
  });
});

describe('the explorer of a service', () => {
  it('does not exist with DOCS=off', async () => {
    const app = await createTestApp({ env: { DOCS: 'off' } });
    for (const path of [
      '/docs',
      '/docs/openapi.json',
      '/docs/openapi.yaml',
      '/docs/live',
      '/docs/live/script.js',
    ])
      expect((await fetch(app.url + path)).status).toBe(404);
    expect((await fetch(`${app.url}/todos`)).status).toBe(200);
    await app.close();
  });

  it('is mentioned in no answer with DOCS=off', async () => {
    const app = await createTestApp({ env: { DOCS: 'off' } });
    await app.database.collection('todos').insertMany([{ title: 'Tea' }, { title: 'Cake' }]);
    const answerTo = async (method: string, path: string) => {
      const headers = { Accept: 'text/html, application/json', Authorization: 'Bearer none' };
      const response = await fetch(app.url + path, { method, headers, redirect: 'manual' });
      return { status: response.status, headers: [...response.headers], text: await response.text() };
    };
    const answers = [
      ...['/', '/api', '/api-json', '/docs', '/docs/live', '/docs/openapi.json', '/todos/', '/no/such'].map(
        (path) => ['GET', path, 404] as const,
      ),
      ['GET', '/todos?limit=1', 200],
      ['GET', '/todos/7', 400],
      ['PUT', '/todos', 405],
      ['POST', '/posts/api', 401],
      ['GET', '/events', 401],
    ] as const;
    for (const [method, path, status] of answers) {
      const answer = await answerTo(method, path);
      expect([method, path, answer.status]).toEqual([method, path, status]);
      const said = JSON.stringify(answer).replaceAll(`"instance\\":\\"${path}`, '');
      expect(said).not.toMatch(/docs|openapi|explorer/);
      if (status === 404) expect(answer.text).toContain('"detail":"There is no such path. Check it."');
    }
    await app.close();
  });
});
