import { ACME, tokenOf } from '../../support/tenants.js';
import { useTestApp } from '../../support/test-app.js';

const token = await tokenOf(ACME);

describe('Cache-Control', () => {
  let todo: string;
  let post: string;
  const app = useTestApp();
  beforeAll(async () => {
    todo = `/todos/${(await app.post('/todos', { title: 'x' })).body._id}`;
    post = `/posts/api/${(await app.post('/posts/api', { title: 'x' }, { token })).body._id}`;
  });

  const directive = async (method: string, path: string, request = {}) => {
    const { status, headers } = await app.request(method, path, request);
    return [status, headers.get('cache-control')];
  };

  it('lets a cache store public reads if it revalidates each time', async () => {
    expect(await directive('GET', todo)).toEqual([200, 'no-cache']);
    expect(await directive('HEAD', todo)).toEqual([200, 'no-cache']);
    expect(await directive('GET', '/todos')).toEqual([200, 'no-cache']);
    expect(await directive('GET', '/posts/api?limit=1')).toEqual([200, 'no-cache']);
    expect(await directive('GET', todo, { headers: { 'If-None-Match': '"0"' } })).toEqual([304, 'no-cache']);
  });

  it('lets only the client store a read with a token, and only if it has an ETag', async () => {
    expect(await directive('GET', post, { token })).toEqual([200, 'private, no-cache']);
    expect(await directive('GET', post, { token, headers: { 'If-None-Match': '"0"' } })).toEqual([
      304,
      'private, no-cache',
    ]);
    expect(await directive('GET', '/posts/api?archived=include', { token })).toEqual([200, 'no-store']);
    expect(await directive('GET', '/subscriptions', { token })).toEqual([200, 'no-store']);
  });

  it('lets nobody store an error, or the answer to a write', async () => {
    expect(await directive('POST', '/todos', { body: { title: 'y' } })).toEqual([201, 'no-store']);
    expect(await directive('PATCH', todo, { body: { title: 'y' } })).toEqual([200, 'no-store']);
    expect(await directive('DELETE', todo)).toEqual([200, 'no-store']);
    expect(await directive('GET', todo)).toEqual([404, 'no-store']);
    expect(await directive('GET', '/nothing')).toEqual([404, 'no-store']);
    expect(await directive('POST', '/posts/api', { body: { title: 'z' } })).toEqual([401, 'no-store']);
  });
});
