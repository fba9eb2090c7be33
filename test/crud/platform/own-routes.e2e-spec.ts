import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { photosModule } from '../../support/photos.js';
import { addOwnEnhancers, PLATFORMS, readBytes, senderTo } from '../../support/platforms.js';
import { ACME, GLOBEX, tokenOf } from '../../support/tenants.js';

const token = await tokenOf(ACME);
const foreign = { Authorization: `Bearer ${await tokenOf(GLOBEX)}` };
const nobody = { Authorization: '' };
const ofBytes = { 'Content-Type': 'application/octet-stream' };

describe.each(['Express', 'Fastify', 'createCrudApp'] as const)('routes of your own on %s', (platform) => {
  let app: INestApplication;
  let send: Awaited<ReturnType<typeof senderTo>>;
  let document: OpenAPIObject;
  beforeAll(async () => {
    app = await PLATFORMS[platform]({ imports: [photosModule()] });
    addOwnEnhancers(app, false);
    readBytes(app);
    document = SwaggerModule.createDocument(app, new DocumentBuilder().addBearerAuth().build());
    await app.listen(0, '127.0.0.1');
    send = await senderTo(app, token);
  });
  afterAll(() => app.close());

  async function photo(title = 'a photo'): Promise<string> {
    const { body } = await send('POST', '/photos', { title });
    return `/photos/${body._id as string}`;
  }
  const operation = (path: string, method: string) =>
    document.paths[path]?.[method as 'get'] as unknown as Record<
      'parameters' | 'responses' | 'requestBody',
      object[]
    >;
  const faultsOf = ({ status, body }: { status: number; body: { errors: object[] } }) => [
    status,
    body.errors,
  ];

  it('leave a body of another media type to the platform', async () => {
    const path = await photo();
    const { status, body } = await send('PUT', `${path}/file`, Buffer.alloc(3_000), ofBytes);
    expect([status, body.bytes]).toEqual([200, 3_000]);
    // What the platform has parsed may come straight from a client.
    expect((await send('PUT', `${path}/file`, { title: 'new' })).body.title).toBe('new');
    expect(faultsOf(await send('PUT', `${path}/file`, { title: 'x', place: 'mine' }))).toMatchObject([
      400,
      [{ pointer: '/place' }],
    ]);
    const refused = await send('PUT', `${path}/file`, 'text', { 'Content-Type': 'text/plain' });
    expect([refused.status, refused.body.code]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
    expect((await send('PUT', `${path}/file`, Buffer.alloc(3), { ...ofBytes, ...foreign })).status).toBe(404);
    expect(operation('/photos/{id}/file', 'put')).toMatchObject({
      requestBody: { content: { 'application/*': {} } },
    });
  });

  it('take no key for a body that is not read here', async () => {
    const key = { 'Idempotency-Key': 'k', ...ofBytes };
    const { status, body } = await send('POST', '/photos/file', Buffer.alloc(3), key);
    expect([status, body.errors]).toMatchObject([400, [{ parameter: 'Idempotency-Key' }]]);
  });

  it('read the query into its class', async () => {
    const url = '/photos/recent?word=tea&limit=20&tags=a%5C,b,c&exact=true&order=-1';
    expect((await send('GET', url)).body).toEqual({
      word: 'tea',
      limit: 20,
      tags: ['a,b', 'c'],
      exact: true,
      order: -1,
    });
    expect((await send('GET', '/photos/recent?word=tea')).body).toEqual({ word: 'tea', limit: 10 });
  });

  it('read a parameter as their class says, even if the archive has one of that name', async () => {
    expect((await send('GET', '/photos/filed?archived=true')).body).toEqual({ archived: true });
  });

  it('name each parameter that does not fit its class', async () => {
    const url = '/photos/recent?limit=51&tags=a,b,c&exact=1&order=2';
    expect(faultsOf(await send('GET', url))).toMatchObject([
      400,
      ['limit', 'tags', 'exact', 'order', 'word'].map((parameter) => ({ parameter })),
    ]);
    const [unknown, repeated] = [await send('GET', '/photos/recent?wrd=1'), '/photos/recent?word=1&word=2'];
    expect(faultsOf(unknown)).toMatchObject([400, [{ parameter: 'wrd' }]]);
    expect(faultsOf(await send('GET', repeated))).toMatchObject([400, [{ parameter: 'word' }]]);
    expect(faultsOf(await send('GET', '/photos/recent?word=1&limit=1e999'))).toMatchObject([400, [{}]]);
  });

  it('read headers into their class', async () => {
    const device = await send('GET', '/photos/device', undefined, { 'x-device': 'phone', 'X-COPIES': '2' });
    expect(device.body).toEqual({ 'X-Device': 'phone', 'X-Copies': 2 });
    const sizes = { 'X-Device': 'phone', 'X-Sizes': '1, 2 ,3' };
    expect((await send('GET', '/photos/device', undefined, sizes)).body['X-Sizes']).toEqual([1, 2, 3]);
    expect(faultsOf(await send('GET', '/photos/device', undefined, { 'X-Copies': '10' }))).toMatchObject([
      400,
      [{ parameter: 'X-Device' }, { parameter: 'X-Copies' }],
    ]);
  });

  it('answer with lists and pages of records as generated ones do', async () => {
    for (const title of ['one', 'two', 'three'])
      await send('PATCH', `${await photo(title)}/place`, { place: 'here' }, { 'X-Name': 'Ada' });
    await photo('nowhere');
    const [record] = (await send('GET', '/photos/all')).body as Record<string, unknown>[];
    expect(record).toEqual(expect.objectContaining({ title: 'nowhere', _id: expect.any(String) }));
    expect(record).not.toHaveProperty('__v');
    const first = await send('GET', '/photos/placed?limit=2&sort=title');
    expect(first.body).toMatchObject({ results: [{ title: 'one' }, { title: 'three' }], count: 3 });
    expect(first.headers.get('link')).toContain('rel="next"');
    const next = `/photos/placed?limit=2&sort=title&after=${first.body.next as string}`;
    expect((await send('GET', next)).body.results).toMatchObject([{ title: 'two' }]);
    // The cursor belongs to the list with the condition.
    expect((await send('GET', next.replace('/placed', ''))).status).toBe(400);
    expect((await send('GET', '/photos/placed?limit=2', undefined, foreign)).body.count).toBe(0);
    expect((await send('GET', '/photos/all', undefined, nobody)).status).toBe(401);
  });

  it('aggregate what the caller can read', async () => {
    const path = await photo();
    await send('PUT', `${path}/file`, Buffer.alloc(7), ofBytes);
    const sum = (await send('GET', '/photos/bytes')).body[0].bytes as number;
    await send('PUT', `${path}/file`, Buffer.alloc(9), ofBytes);
    expect((await send('GET', '/photos/bytes')).body).toMatchObject([{ bytes: sum + 2 }]);
    expect((await send('GET', '/photos/bytes', undefined, foreign)).body).toEqual([]);
  });

  it('have guards and decorators, after isolation', async () => {
    const path = `${await photo()}/place`;
    const ada = { 'X-Name': 'Ada' };
    expect((await send('PATCH', path, { place: 'here' })).status).toBe(403);
    expect((await send('PATCH', path, { place: 'here' }, { ...ada, ...nobody })).status).toBe(401);
    expect((await send('PATCH', path, { place: 'here' }, { ...ada, ...foreign })).status).toBe(404);
    expect((await send('PATCH', path, { place: 'here' }, ada)).body.place).toBe('here');
  });

  it('take a merge patch of a class', async () => {
    const path = `${await photo()}/place`;
    const headers = { 'X-Name': 'Ada', 'Content-Type': 'application/merge-patch+json' };
    await send('PATCH', path, { place: 'here', bytes: 3 }, headers);
    expect((await send('PATCH', path, { bytes: null }, headers)).body).not.toHaveProperty('bytes');
    expect(faultsOf(await send('PATCH', path, { place: null, title: 'x' }, headers))).toMatchObject([
      400,
      [{ pointer: '/place' }, { pointer: '/title' }],
    ]);
  });

  it('let nobody write a field of the input who may not', async () => {
    const { status, body } = await send('PUT', '/photos/titled', { title: 'x', price: '1' });
    expect([status, body.code]).toEqual([403, 'FORBIDDEN_FIELD']);
    const sales = { Authorization: `Bearer ${await tokenOf(ACME, { roles: ['sales'] })}` };
    expect((await send('PUT', '/photos/titled', { title: 'x', price: '1' }, sales)).body.price).toBe('1');
  });

  it('answer with the tag of a record, and honor conditions on it', async () => {
    const path = await photo();
    const self = await send('GET', `${path}/self`);
    const tag = self.headers.get('etag') ?? '';
    expect(tag).toBe((await send('GET', path)).headers.get('etag'));
    expect((await send('GET', `${path}/self`, undefined, { 'If-None-Match': tag })).status).toBe(304);
    expect((await send('HEAD', `${path}/self`, undefined, { 'If-None-Match': tag })).status).toBe(304);
    const change = (match: string) =>
      send('PATCH', `${path}/place`, { place: match }, { 'X-Name': 'Ada', 'If-Match': match });
    expect((await change(tag)).headers.get('etag')).not.toBe(tag);
    expect((await change(tag)).status).toBe(412);
    const replaced = await send('PUT', `${path}/place`, { place: 'x' }, { 'If-Match': tag });
    expect([replaced.status, Object.keys(operation('/photos/{id}/place', 'put').responses)]).toEqual([
      412,
      expect.arrayContaining(['412']),
    ]);
  });

  it('are documented as they are', () => {
    const parametersOf = (path: string, method = 'get') =>
      Object.fromEntries(
        (operation(path, method).parameters as { name: string }[]).map((one) => [one.name, one]),
      );
    const recent = parametersOf('/photos/recent');
    expect(recent).toMatchObject({
      word: { required: true, schema: { type: 'string', maxLength: 5, example: 'tea' } },
      limit: { required: true, schema: { type: 'integer', maximum: 50 } },
      tags: { required: false, style: 'form', explode: false, schema: { type: 'array', maxItems: 2 } },
    });
    expect(parametersOf('/photos/device')).toMatchObject({
      'X-Device': { in: 'header', required: true, description: 'Name of the device' },
    });
    expect(Object.keys(parametersOf('/photos/placed'))).toEqual(
      expect.arrayContaining(['limit', 'sort', 'title']),
    );
    const responses = (path: string, method = 'get') => operation(path, method).responses;
    expect(responses('/photos/placed')).toMatchObject({
      200: { content: { 'application/json': { schema: { $ref: '#/components/schemas/PhotoPage' } } } },
    });
    const items = { type: 'array', items: { $ref: '#/components/schemas/Photo' } };
    expect(responses('/photos/all')).toMatchObject({
      200: { content: { 'application/json': { schema: items } } },
    });
    expect(Object.keys(responses('/photos/{id}/self'))).toEqual(expect.arrayContaining(['304', '404']));
    expect(Object.keys(responses('/photos/{id}/place', 'patch'))).toEqual(
      expect.arrayContaining(['412', '403', '415']),
    );
    expect(operation('/photos/{id}/place', 'patch').requestBody).toMatchObject({
      content: { 'application/merge-patch+json': { schema: { $ref: '#/components/schemas/PlacePatch' } } },
    });
    expect(Object.keys(responses('/photos/titled', 'put'))).toContain('403');
  });
});
