import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { Readable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import { Controller, Get, Header, Param, StreamableFile } from '@nestjs/common';
import { Compressed, IsText } from '../../src/index.js';
import { eventually } from '../support/eventually.js';
import { useUnhurriedReaders } from '../support/open-cursors.js';
import { storeTodos } from '../support/records.js';
import { feature } from '../support/resource.js';
import { useResourceApp } from '../support/resource-app.js';
import { acme } from '../support/tenants.js';
import { type TestApp, useTestApp } from '../support/test-app.js';

type Headers = Record<string, string>;

const GZIP = { 'Accept-Encoding': 'gzip' };

/** Opens a request with these headers and no others; the body is not read yet. */
async function open(app: TestApp, path: string, headers: Headers = {}, method = 'GET') {
  const sent = request(app.url + path, { method, headers }).end();
  sent.on('error', () => undefined);
  return ((await once(sent, 'response')) as [IncomingMessage])[0];
}

async function received(app: TestApp, path: string, headers: Headers = {}, method = 'GET') {
  const response = await open(app, path, headers, method);
  const bytes = Buffer.concat(await response.toArray());
  const { statusCode: status, headers: fields } = response;
  return { status, coding: fields['content-encoding'], headers: fields, bytes };
}

describe.each(['generated', 'handwritten'])('answers of the service, %s', (form) => {
  const app = useTestApp({ env: { TODOS_API: form } });
  beforeAll(() => storeTodos(app.database, 500, ''));

  it.each([
    ['a whole list', '/todos', {}],
    ['a page', '/todos?limit=50', {}],
    ...(form === 'generated' ? [['a list as NDJSON', '/todos', { Accept: 'application/x-ndjson' }]] : []),
    ['the OpenAPI document', '/docs/openapi.json', {}],
    ['the document as YAML', '/docs/openapi.yaml', {}],
    ['the page of the explorer', '/docs', {}],
    ['a file of the explorer', '/docs/swagger-ui.css', {}],
  ] as [string, string, Headers][])('compress %s, if the client accepts that', async (_, path, headers) => {
    const plain = await received(app, path, headers);
    expect([plain.status, plain.coding]).toEqual([200, undefined]);
    expect(plain.headers.vary).toContain('Accept-Encoding');
    const accepting = { ...headers, ...GZIP };
    const answer = await received(app, path, accepting);
    expect([answer.coding, answer.headers.vary]).toEqual(['gzip', plain.headers.vary]);
    expect(gunzipSync(answer.bytes).equals(plain.bytes)).toBe(true);
    expect(answer.bytes.length).toBeLessThan(plain.bytes.length / 2);
    const head = await received(app, path, accepting, 'HEAD');
    const { 'content-length': length = String(answer.bytes.length), ...shown } = head.headers;
    expect(length).toBe(String(answer.bytes.length));
    for (const name of ['content-type', 'content-encoding', 'vary', 'etag', 'cache-control'])
      expect([name, shown[name]]).toEqual([name, answer.headers[name]]);
  });

  it('leave the others as they are: records, counts, small lists, writes and errors', async () => {
    const headers = { 'Accept-Encoding': 'br, gzip' };
    const todo = { title: 'Tea', description: 'x'.repeat(5_000) };
    const whole = { headers: { ...headers, Prefer: 'return=representation' } };
    const created = await app.post('/todos', todo, whole);
    expect([created.status, created.headers.get('content-encoding')]).toEqual([201, null]);
    const one = `/todos/${created.body._id}`;
    for (const path of [one, '/health/live', '/metrics', '/todos?limit=0'])
      expect([path, (await received(app, path, headers)).coding]).toEqual([path, undefined]);
    await app.del(one);
    const small = await received(app, '/todos?limit=1', headers);
    expect(small.coding).toBeUndefined();
    expect(small.headers.vary).toContain('Accept-Encoding');
    const live = await open(app, '/events', { ...headers, Authorization: `Bearer ${acme}` });
    expect([live.statusCode, live.headers['content-encoding']]).toEqual([200, undefined]);
    live.destroy();
  });

  it.each<[coding: string | undefined, accepted: string[]]>([
    ['gzip', ['gzip', 'GZIP', 'gzip, deflate, br, zstd', '*', 'identity;q=0.5, gzip']],
    [undefined, ['', 'identity', 'deflate, br, zstd', 'gzip;q=0.5, identity']],
    [undefined, ['gzip;q=0, *', '*;q=0', 'gzip;q=2']],
  ])('have the coding %s for each of these as Accept-Encoding: %j', async (coding, accepted) => {
    for (const value of accepted) {
      const answer = await received(app, '/todos?limit=50', { 'Accept-Encoding': value });
      expect([value, answer.status, answer.coding]).toEqual([value, 200, coding]);
    }
  });
});

/** More than the sockets between a client and the service can hold, however it is compressed. */
const PARTS = 2_000;
const sources: Source[] = [];

/** After how many parts the source of a stream fails. */
const FAILS_AT: Partial<Record<string, number>> = { broken: 20, failed: 0 };

/** Parts that do not become smaller, and then an end, an error, or nothing more. */
class Source extends Readable {
  made = 0;

  constructor(private readonly kind: string) {
    super();
    sources.push(this);
  }

  override _read(): void {
    if (this.made === FAILS_AT[this.kind]) this.destroy(new Error('The source failed'));
    else if (this.made++ === PARTS) this.push(null);
    else if (this.made === 1 || this.kind !== 'hanging') this.push(randomBytes(32_768));
  }
}

@Controller('streams')
class StreamsController {
  @Get('tagged')
  @Compressed()
  @Header('ETag', '"1"')
  tagged(): string {
    return 'x'.repeat(2_000);
  }

  @Get(':kind')
  @Compressed()
  stream(@Param('kind') kind: string): StreamableFile {
    return new StreamableFile(new Source(kind));
  }
}

class StreamsModule {}

const fields = { text: IsText({ max: 20_000 }) };
const app = useResourceApp(
  { module: StreamsModule, controllers: [StreamsController] },
  feature({ name: 'sheets', fields, routes: { list: { decorators: [Compressed(false)] } } }),
);

describe('compressed streams', () => {
  beforeEach(() => void sources.splice(0));
  const { start } = useUnhurriedReaders(app);
  const stall = (kind: string) => start(`/streams/${kind}`, GZIP);

  it('are made as their client reads them, and end when it goes away', async () => {
    const seen = app.logLines.length;
    const response = await stall('whole');
    expect(response.headers['content-encoding']).toBe('gzip');
    // Another one that is read for a while: time enough for this one to run ahead, if it did.
    const other = await stall('whole');
    let bytes = 0;
    for await (const part of other) if ((bytes += (part as Buffer).length) > 8_000_000) break;
    const [source] = sources;
    expect(source?.made).toBeLessThan(PARTS / 2);
    response.destroy();
    await eventually(() => expect(sources.map(({ destroyed }) => destroyed)).toEqual([true, true]));
    await eventually(() => expect(app.logLines.slice(seen)).toHaveLength(2));
    expect(app.logLines.slice(seen).map(({ level }) => level)).not.toContain('error');
  });

  it('break off if their source fails, or become an uncompressed error if nothing has been sent yet', async () => {
    await expect(received(app, '/streams/broken', GZIP)).rejects.toMatchObject({ code: 'ECONNRESET' });
    const { status, coding, bytes } = await received(app, '/streams/failed', GZIP);
    expect([status, coding]).toEqual([500, undefined]);
    expect(JSON.parse(bytes.toString())).toMatchObject({ code: 'INTERNAL_ERROR' });
  });

  it('are 32 at a time; others are sent as they are, until one ends', async () => {
    const coding = async () => (await stall('hanging')).headers['content-encoding'];
    const first = await stall('hanging');
    for (let i = 1; i < 32; i++) expect(await coding()).toBe('gzip');
    expect(await coding()).toBeUndefined();
    first.destroy();
    await eventually(async () => expect(await coding()).toBe('gzip'));
  });

  it('have a weak ETag, since their bytes differ by their coding', async () => {
    expect((await received(app, '/streams/tagged', GZIP)).headers.etag).toBe('W/"1"');
    expect((await received(app, '/streams/tagged')).headers.etag).toBe('"1"');
  });
});

it.each(['/sheets', '/sheets?limit=10'])('no list whose route opts out is compressed: %s', async (path) => {
  await app.post('/sheets', { text: 'x'.repeat(10_000) });
  const { headers, coding } = await received(app, path, GZIP);
  expect([headers.vary, coding]).toEqual(['Accept', undefined]);
});
