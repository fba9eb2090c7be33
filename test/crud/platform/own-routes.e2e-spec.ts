import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { photosModule } from '../../support/photos.js';
import { addOwnEnhancers, PLATFORMS, readBytes, useRunning } from '../../support/platforms.js';
import { ACME, globex, tokenOf } from '../../support/tenants.js';

const foreign = { Authorization: `Bearer ${globex}` };
const nobody = { Authorization: '' };
const ada = { 'X-Name': 'Ada' };
const ofBytes = { 'Content-Type': 'application/octet-stream' };

describe.each(['Express', 'Fastify', 'createCrudApp'] as const)('routes of your own on %s', (platform) => {
  let document: OpenAPIObject;
  const running = useRunning(async () => {
    const app = await PLATFORMS[platform]({ imports: [photosModule()] });
    addOwnEnhancers(app, false);
    readBytes(app);
    document = SwaggerModule.createDocument(app, new DocumentBuilder().addBearerAuth().build());
    return app;
  });
  const send: typeof running.send = (...request) => running.send(...request);
  const get = (path: string, headers?: Record<string, string>) => send('GET', path, undefined, headers);

  async function photo(title = 'a photo'): Promise<string> {
    const { body } = await send('POST', '/photos', { title });
    return `/photos/${body._id as string}`;
  }
  type Operation = Record<'parameters' | 'responses' | 'requestBody', object[]>;
  const operation = (path: string, method: string) =>
    document.paths[path]?.[method as 'get'] as unknown as Operation;
  /** Asserts that a request is refused, with faults like these. */
  async function expectFaults(answering: ReturnType<typeof send>, ...faults: object[]) {
    const { status, body } = await answering;
    expect([status, body.errors]).toMatchObject([400, faults]);
  }

  it('leave a body of another media type to the platform', async () => {
    const path = await photo();
    const { status, body } = await send('PUT', `${path}/file`, Buffer.alloc(3_000), ofBytes);
    expect([status, body.bytes]).toEqual([200, 3_000]);
    // What the platform has parsed may come straight from a client.
    expect((await send('PUT', `${path}/file`, { title: 'new' })).body.title).toBe('new');
    await expectFaults(send('PUT', `${path}/file`, { title: 'x', place: 'mine' }), { pointer: '/place' });
    const refused = await send('PUT', `${path}/file`, 'text', { 'Content-Type': 'text/plain' });
    expect([refused.status, refused.body.code]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
    expect((await send('PUT', `${path}/file`, Buffer.alloc(3), { ...ofBytes, ...foreign })).status).toBe(404);
    const requestBody = { content: { 'application/*': {} } };
    expect(operation('/photos/{id}/file', 'put')).toMatchObject({ requestBody });
    // Which takes no key: nobody could compare what was sent.
    const keyed = send('POST', '/photos/file', Buffer.alloc(3), { 'Idempotency-Key': 'k', ...ofBytes });
    await expectFaults(keyed, { parameter: 'Idempotency-Key' });
  });

  it('answer with a file to those who may read its record', async () => {
    const path = `${await photo('a file')}/file`;
    const { status, text, headers } = await get(path);
    expect([status, text, headers.get('content-type')]).toEqual([200, 'a file', 'image/svg+xml']);
    expect((await get(path, foreign)).status).toBe(404);
  });

  it('take the parameters that they name, each once and as it was sent', async () => {
    expect((await get('/photos/word?word=time')).body).toEqual({ word: 'time' });
    const once = { parameter: 'word', detail: '"word" must be given once.' };
    const stray = { parameter: 'words', detail: '"words" is not a parameter here. Allowed: word.' };
    for (const [query, fault] of [
      ['word=time&word=chime', once],
      ['words=time', stray],
    ] as const) {
      const { status, body } = await get(`/photos/word?${query}`);
      expect([status, body.errors]).toEqual([400, [fault]]);
    }
  });

  it('read the query into its class', async () => {
    const url = '/photos/recent?word=tea&limit=20&tags=a%5C,b,c&exact=true&order=-1';
    const read = { word: 'tea', limit: 20, tags: ['a,b', 'c'], exact: true, order: -1 };
    expect((await get(url)).body).toEqual(read);
    expect((await get('/photos/recent?word=tea')).body).toEqual({ word: 'tea', limit: 10 });
    // Even if the archive has a parameter of that name.
    expect((await get('/photos/filed?archived=true')).body).toEqual({ archived: true });
  });

  it('name each parameter that does not fit its class', async () => {
    for (const [query, ...parameters] of [
      ['limit=51&tags=a,b,c&exact=1&order=2', 'limit', 'tags', 'exact', 'order', 'word'],
      ['wrd=1', 'wrd'],
      ['word=1&word=2', 'word'],
      ['word=1&limit=1e999', 'limit'],
    ])
      await expectFaults(get(`/photos/recent?${query}`), ...parameters.map((parameter) => ({ parameter })));
  });

  it('read headers into their class', async () => {
    const device = await get('/photos/device', { 'x-device': 'phone', 'X-COPIES': '2' });
    expect(device.body).toEqual({ 'X-Device': 'phone', 'X-Copies': 2 });
    const sizes = { 'X-Device': 'phone', 'X-Sizes': '1, 2 ,3' };
    expect((await get('/photos/device', sizes)).body['X-Sizes']).toEqual([1, 2, 3]);
    const wrong = get('/photos/device', { 'X-Copies': '10' });
    await expectFaults(wrong, { parameter: 'X-Device' }, { parameter: 'X-Copies' });
  });

  it('answer with lists and pages of records as generated ones do', async () => {
    for (const title of ['one', 'two', 'three'])
      await send('PATCH', `${await photo(title)}/place`, { place: 'here' }, ada);
    await photo('nowhere');
    const [record] = (await get('/photos/all')).body as Record<string, unknown>[];
    expect(record).toEqual(expect.objectContaining({ title: 'nowhere', _id: expect.any(String) }));
    expect(record).not.toHaveProperty('__v');
    const first = await get('/photos/placed?limit=2&sort=title');
    expect(first.body).toMatchObject({ results: [{ title: 'one' }, { title: 'three' }], count: 3 });
    expect(first.headers.get('link')).toContain('rel="next"');
    const next = `/photos/placed?limit=2&sort=title&after=${first.body.next as string}`;
    expect((await get(next)).body.results).toMatchObject([{ title: 'two' }]);
    // The cursor belongs to the list with the condition.
    expect((await get(next.replace('/placed', ''))).status).toBe(400);
    expect((await get('/photos/placed?limit=2', foreign)).body.count).toBe(0);
    expect((await get('/photos/all', nobody)).status).toBe(401);
  });

  it('aggregate what the caller can read', async () => {
    const path = `${await photo()}/file`;
    await send('PUT', path, Buffer.alloc(7), ofBytes);
    const sum = (await get('/photos/bytes')).body[0].bytes as number;
    await send('PUT', path, Buffer.alloc(9), ofBytes);
    expect((await get('/photos/bytes')).body).toMatchObject([{ bytes: sum + 2 }]);
    expect((await get('/photos/bytes', foreign)).body).toEqual([]);
  });

  it('have guards and decorators, after isolation', async () => {
    const path = `${await photo()}/place`;
    const place = (headers: object) => send('PATCH', path, { place: 'here' }, { ...headers });
    const others = [await place({}), await place({ ...ada, ...nobody }), await place({ ...ada, ...foreign })];
    expect(others.map(({ status }) => status)).toEqual([403, 401, 404]);
    expect((await place(ada)).body.place).toBe('here');
  });

  it('take a merge patch of a class', async () => {
    const path = `${await photo()}/place`;
    const headers = { ...ada, 'Content-Type': 'application/merge-patch+json' };
    await send('PATCH', path, { place: 'here', bytes: 3 }, headers);
    expect((await send('PATCH', path, { bytes: null }, headers)).body).not.toHaveProperty('bytes');
    const wrong = send('PATCH', path, { place: null, title: 'x' }, headers);
    await expectFaults(wrong, { pointer: '/place' }, { pointer: '/title' });
  });

  it('let nobody write a field of the input who may not', async () => {
    const { status, body } = await send('PUT', '/photos/titled', { title: 'x', price: '1' });
    expect([status, body.code]).toEqual([403, 'FORBIDDEN_FIELD']);
    const sales = { Authorization: `Bearer ${tokenOf(ACME, { roles: ['sales'] })}` };
    expect((await send('PUT', '/photos/titled', { title: 'x', price: '1' }, sales)).body.price).toBe('1');
  });

  it('answer with the tag of a record, and honor conditions on it', async () => {
    const path = await photo();
    const self = await get(`${path}/self`);
    const tag = self.headers.get('etag') ?? '';
    expect(tag).toBe((await get(path)).headers.get('etag'));
    expect((await get(`${path}/self`, { 'If-None-Match': tag })).status).toBe(304);
    expect((await send('HEAD', `${path}/self`, undefined, { 'If-None-Match': tag })).status).toBe(304);
    const change = (match: string) =>
      send('PATCH', `${path}/place`, { place: match }, { ...ada, 'If-Match': match });
    expect((await change(tag)).headers.get('etag')).not.toBe(tag);
    expect((await change(tag)).status).toBe(412);
    expect((await send('PUT', `${path}/place`, { place: 'x' }, { 'If-Match': tag })).status).toBe(412);
    expect(operation('/photos/{id}/place', 'put').responses).toHaveProperty('412');
  });

  it('are documented as they are', () => {
    const parametersOf = (path: string) => {
      const parameters = operation(path, 'get').parameters as { name: string }[];
      return Object.fromEntries(parameters.map((one) => [one.name, one]));
    };
    expect(parametersOf('/photos/recent')).toMatchObject({
      word: { required: true, schema: { type: 'string', maxLength: 5, example: 'tea' } },
      limit: { required: true, schema: { type: 'integer', maximum: 50 } },
      tags: { required: false, style: 'form', explode: false, schema: { type: 'array', maxItems: 2 } },
    });
    expect(parametersOf('/photos/device')).toMatchObject({
      'X-Device': { in: 'header', required: true, description: 'Name of the device' },
    });
    expect(parametersOf('/photos/placed')).toMatchObject({ limit: {}, sort: {}, title: {} });

    const shared = (name: string) => ({ $ref: `#/components/schemas/${name}` });
    const content = (schema: object, type = 'application/json') => ({ content: { [type]: { schema } } });
    const responses = (path: string, method = 'get') => operation(path, method).responses;
    const statuses = (path: string, method?: string) => Object.keys(responses(path, method));
    expect(responses('/photos/placed')).toMatchObject({ 200: content(shared('PhotoPage')) });
    expect(responses('/photos/all')[200]).toMatchObject(content({ type: 'array', items: shared('Photo') }));
    expect(responses('/photos/{id}/file')).toMatchObject({ 200: content({}, 'image/svg+xml') });
    expect(statuses('/photos/{id}/self')).toEqual(expect.arrayContaining(['304', '404']));
    expect(statuses('/photos/{id}/place', 'patch')).toEqual(expect.arrayContaining(['412', '403', '415']));
    const { requestBody } = operation('/photos/{id}/place', 'patch');
    expect(requestBody).toMatchObject(content(shared('PlacePatch'), 'application/merge-patch+json'));
    expect(statuses('/photos/titled', 'put')).toContain('403');
  });
});
