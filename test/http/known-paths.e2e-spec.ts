import { All, Controller, Delete, Get, Options, Patch, Post, Put, type Type } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { expectNoMethod, expectNoPath } from '../support/problems.js';
import { sendRaw } from '../support/raw-http.js';
import { serviceWith, useTestApp } from '../support/test-app.js';

const CONTROLLERS = 150;
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY'];

const ROUTES: readonly [route: MethodDecorator, answer: string][] = [
  [Get(), 'list'],
  [Put(), 'replaced all'],
  [Get('count'), 'count'],
  [Post('moves'), 'moved'],
  [Get(':id'), 'one'],
  [Put(':id'), 'replaced'],
  [Patch(':id'), 'updated'],
  [Delete(':id'), 'deleted'],
  [Put(':id/parts/:part'), 'replaced a part'],
  [Options('asked'), 'options'],
];

/** One of many controllers, so that the service has hundreds of routes. */
function controllerAt(path: string): Type {
  @ApiExcludeController()
  @Controller(path)
  class Handlers {}
  for (const [route, answer] of ROUTES) {
    const handler = { value: () => answer, writable: true, configurable: true };
    Object.defineProperty(Handlers.prototype, answer, handler);
    route(Handlers.prototype, answer, handler);
  }
  return Handlers;
}

@ApiExcludeController()
@Controller('forwarded')
class Forwarded {
  @Get(':account/orders') orders() {
    return 'orders';
  }
  @All('proxy/*') proxy() {
    return 'forwarded';
  }
}

const ORIGIN = 'https://app.example.com';
const controllers = Array.from({ length: CONTROLLERS }, (_, i) => controllerAt(`things-${i}`));
const root = serviceWith({ controllers: [...controllers, Forwarded] });
const app = useTestApp({ root });
const shared = useTestApp({ root, env: { CORS_ORIGINS: ORIGIN } });
const send = (method: string, path: string, headers = {}) => sendRaw(app.url, { method, path, headers });
const last = `/things-${CONTROLLERS - 1}`;

afterEach(async () => expect(await app.database.collection('todos').countDocuments()).toBe(0));

describe('a method that a path does not have', () => {
  it('is a 405 with Allow, on every path of the document', async () => {
    const { paths } = (await app.get('/docs/openapi.json')).body as { paths: Record<string, object> };
    expect(Object.keys(paths)).toContain('/todos/{id}');
    for (const [template, operations] of Object.entries(paths)) {
      const documented = Object.keys(operations).map((name) => name.toUpperCase());
      // The document has the same as a POST.
      const queried = `${template}/query` in paths ? ['QUERY'] : [];
      const allowed = [...documented, ...queried, ...(documented.includes('GET') ? ['HEAD'] : [])].sort();
      const path = template.replace('{id}', '665f1c2ab7e3a90d4c8b4567');
      for (const method of METHODS.filter((name) => !allowed.includes(name))) {
        const response = await send(method, path);
        if (method === 'OPTIONS') {
          const allow = [...allowed, 'OPTIONS'].sort().join(', ');
          expect([response.status, response.text, response.headers.get('allow')]).toEqual([204, '', allow]);
        } else expectNoMethod(response, method, path, allowed.join(', '));
      }
    }
  });

  it('is not changed by an override header', async () => {
    const headers = { 'X-HTTP-Method-Override': 'DELETE', 'X-Method-Override': 'DELETE' };
    expect((await app.get('/todos', { headers })).body).toEqual([]);
  });
});

describe('of hundreds of routes', () => {
  it.each([
    ['GET', last, 'list'],
    ['GET', `${last}/count`, 'count'],
    ['POST', `${last}/moves`, 'moved'],
    ['GET', `${last}/${'x'.repeat(100)}`, 'one'],
    ['PUT', `${last}/count/parts/2`, 'replaced a part'],
    ['PATCH', `${last}/%63ounts`, 'updated'],
  ])('%s %s is served', async (method, path, text) => {
    const response = await send(method, path);
    expect([Math.floor(response.status / 100), response.text]).toEqual([2, text]);
  });

  it.each([
    ['DELETE', `${last}/%63ount`, 'GET, HEAD'],
    ['POST', `${last}/count?limit=1`, 'GET, HEAD'],
    ['GET', `${last}/asked`, 'OPTIONS'],
    ['QUERY', `${last}/1`, 'DELETE, GET, HEAD, PATCH, PUT'],
    ['GET', `${last}/1/parts/2`, 'PUT'],
  ])('%s %s is a 405 that lists what the path has', async (method, path, allow) => {
    expectNoMethod(await send(method, path), method, path.split('?')[0] ?? path, allow);
  });

  it('a refused method is not read first: its content type does not matter', async () => {
    const headers = { 'Content-Type': 'text/plain', 'Content-Length': '1' };
    expectNoMethod(await send('PUT', `${last}/count`, headers), 'PUT', `${last}/count`, 'GET, HEAD');
  });
});

it.each(['GET', 'POST', 'PUT', 'OPTIONS'])(
  'a path of a wildcard takes %s, like others or not',
  async (method) => {
    for (const name of ['orders', 'other'])
      expect((await send(method, `/forwarded/proxy/${name}`)).text).toBe('forwarded');
    const path = '/forwarded/1/orders';
    if (method === 'POST') expectNoMethod(await send(method, path), method, path, 'GET, HEAD');
  },
);

describe('a path that does not exist', () => {
  const UNKNOWN = ['/nothing', '/todo', '/todos/665f1c2ab7e3a90d4c8b4567/more', '/posts', '/api/posts'];
  const OUTSIDE = ['/.env', '/docs/../package.json', '/docs/%2e%2e/package.json', '/docs/nothing.js'];
  const AMONG_MANY = [`/things-${CONTROLLERS}`, `/${last}`, last.toUpperCase()];
  const BELOW = ['/', '/1/parts', '/1/parts/', '/1/parts/2/3'].map((path) => last + path);
  it.each([...UNKNOWN, ...OUTSIDE, ...AMONG_MANY, ...BELOW])('is a 404: %s', async (path) => {
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PROPFIND'])
      expectNoPath(await send(method, path), path);
  });
});

it.each([
  ['a preflight is answered', 'OPTIONS', last, 204],
  ['a page may read the refusal', 'DELETE', `${last}/count`, 405],
])('with CORS %s: %s %s', async (_what, method, path, status) => {
  const headers = { Origin: ORIGIN, 'Access-Control-Request-Method': 'PATCH' };
  const response = await sendRaw(shared.url, { method, path, headers });
  expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([status, ORIGIN]);
});
