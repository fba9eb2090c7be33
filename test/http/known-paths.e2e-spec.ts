import { Controller, Delete, Get, Module, Options, Patch, Post, Put, type Type } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { expectProblem } from '../support/problems.js';
import { sendRaw } from '../support/raw-http.js';
import { resourceRoot, useResourceApp } from '../support/resource-app.js';
import { createTestApp, type TestResponse, useApp } from '../support/test-app.js';

const CONTROLLERS = 150;

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
function controllerAt(path: string): Type<object> {
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

@Module({ controllers: Array.from({ length: CONTROLLERS }, (_, i) => controllerAt(`things-${i}`)) })
class ManyRoutesModule {}

const app = useResourceApp({ module: ManyRoutesModule });

const last = `/things-${CONTROLLERS - 1}`;
const send = (method: string, path: string, headers = {}) => sendRaw(app.url, { method, path, headers });

function expectNotAllowed(response: TestResponse, method: string, path: string, allow: string): void {
  const detail = `${method} is not possible on this path. Allowed: ${allow}.`;
  expectProblem(response, { status: 405, code: 'METHOD_NOT_ALLOWED', detail, instance: path });
  expect(response.headers.get('allow')).toBe(allow);
}

describe('of hundreds of routes', () => {
  it.each([
    ['GET', last, 'list'],
    ['PUT', last, 'replaced all'],
    ['GET', `${last}/count`, 'count'],
    ['POST', `${last}/moves`, 'moved'],
    ['GET', `${last}/1`, 'one'],
    ['PUT', `${last}/1`, 'replaced'],
    ['DELETE', `${last}/1`, 'deleted'],
    ['PUT', `${last}/count/parts/2`, 'replaced a part'],
    ['PATCH', `${last}/%63ounts`, 'updated'],
  ])('%s %s is served', async (method, path, text) => {
    const response = await send(method, path);
    expect([Math.floor(response.status / 100), response.text]).toEqual([2, text]);
  });

  it.each([
    ['POST', last, 'GET, HEAD, PUT'],
    ['PROPFIND', last, 'GET, HEAD, PUT'],
    ['PUT', `${last}/count`, 'GET, HEAD'],
    ['DELETE', `${last}/count`, 'GET, HEAD'],
    ['DELETE', `${last}/%63ount`, 'GET, HEAD'],
    ['POST', `${last}/count?limit=1`, 'GET, HEAD'],
    ['GET', `${last}/moves`, 'POST'],
    ['HEAD', `${last}/moves`, 'POST'],
    ['GET', `${last}/asked`, 'OPTIONS'],
    ['POST', `${last}/1`, 'DELETE, GET, HEAD, PATCH, PUT'],
    ['QUERY', `${last}/1`, 'DELETE, GET, HEAD, PATCH, PUT'],
    ['GET', `${last}/1/parts/2`, 'PUT'],
  ])('%s %s is a 405 that lists what the path has', async (method, path, allow) => {
    const response = await send(method, path);
    if (method === 'HEAD') expect([response.status, response.headers.get('allow')]).toEqual([405, allow]);
    else expectNotAllowed(response, method, path.split('?')[0] ?? path, allow);
  });

  it.each([
    [`${last}/${'x'.repeat(100)}`, 'DELETE, GET, HEAD, OPTIONS, PATCH, PUT'],
    [`${last}/count`, 'GET, HEAD, OPTIONS'],
  ])('OPTIONS %s says what the path has', async (path, allow) => {
    const response = await send('OPTIONS', path);
    expect([response.status, response.text, response.headers.get('allow')]).toEqual([204, '', allow]);
  });

  it('a refused method is not read first: its content type does not matter', async () => {
    const headers = { 'Content-Type': 'text/plain', 'Content-Length': '1' };
    const path = `${last}/count`;
    expectNotAllowed(await send('PUT', path, headers), 'PUT', path, 'GET, HEAD');
  });

  it.each([
    `/things-${CONTROLLERS}`,
    `${last}/`,
    `${last}/1/parts`,
    `${last}/1/parts/`,
    `${last}/1/parts/2/3`,
    `/${last}`,
    last.toUpperCase(),
  ])('%s is a 404', async (path) => {
    for (const method of ['GET', 'PUT', 'OPTIONS', 'PROPFIND']) {
      expectProblem(await send(method, path), {
        status: 404,
        code: 'PATH_NOT_FOUND',
        detail: 'There is no such path. See /docs for those that exist.',
        instance: path,
      });
    }
  });
});

describe('with CORS', () => {
  const origin = 'https://app.example.com';
  const shared = useApp(() =>
    createTestApp({
      env: { CORS_ORIGINS: origin },
      root: (environment, database) => resourceRoot(environment, database, [{ module: ManyRoutesModule }]),
    }),
  );
  const options = (path: string, headers = {}) => sendRaw(shared.url, { method: 'OPTIONS', path, headers });

  it('a preflight is answered on every path', async () => {
    const asked = { Origin: origin, 'Access-Control-Request-Method': 'PATCH' };
    for (const path of [last, `${last}/count`, `${last}/1`]) {
      const { status, headers } = await options(path, asked);
      expect([status, headers.get('access-control-allow-origin')]).toEqual([204, origin]);
    }
  });

  it('a page may read the refusal', async () => {
    const path = `${last}/count`;
    const response = await sendRaw(shared.url, { method: 'DELETE', path, headers: { Origin: origin } });
    expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([405, origin]);
  });
});
