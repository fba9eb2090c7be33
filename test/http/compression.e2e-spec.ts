import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { Readable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import { Controller, Get, Header, Param, StreamableFile } from '@nestjs/common';
import { Schema } from '@nestjs/mongoose';
import { Compressed, CrudModule } from '../../src/common/crud/index.js';
import { IsText } from '../../src/common/fields/index.js';
import { eventually } from '../support/eventually.js';
import { useResourceApp } from '../support/resource-app.js';
import { acme } from '../support/tenants.js';
import { type TestApp, useTestApp } from '../support/test-app.js';

type Headers = Record<string, string>;

/** Opens a request with these headers and no others; the body is not read yet. */
async function open(app: TestApp, path: string, headers: Headers = {}, method = 'GET') {
  const sent = request(app.url + path, { method, headers }).end();
  sent.on('error', () => undefined);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return response;
}

async function received(app: TestApp, path: string, headers: Headers = {}, method = 'GET') {
  const response = await open(app, path, headers, method);
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part as Buffer);
  return { status: response.statusCode, headers: response.headers, bytes: Buffer.concat(parts) };
}

describe.each(['generated', 'handwritten'])('answers of the service, %s', (form) => {
  const app = useTestApp({ env: { TODOS_API: form } });
  beforeAll(async () => {
    const record = { completed: false, createdAt: new Date(0), updatedAt: new Date(0), __v: 0 };
    const records = Array.from({ length: 500 }, (_, i) => ({ title: `Todo ${i}`, ...record }));
    await app.database.collection('todos').insertMany(records);
  });

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
    expect([plain.status, plain.headers['content-encoding']]).toEqual([200, undefined]);
    expect(plain.headers.vary).toContain('Accept-Encoding');
    const accepting = { ...headers, 'Accept-Encoding': 'gzip' };
    const answer = await received(app, path, accepting);
    expect([answer.headers['content-encoding'], answer.headers.vary]).toEqual(['gzip', plain.headers.vary]);
    expect(gunzipSync(answer.bytes).equals(plain.bytes)).toBe(true);
    expect(answer.bytes.length).toBeLessThan(plain.bytes.length / 2);
    const head = await received(app, path, accepting, 'HEAD');
    for (const name of ['content-type', 'content-encoding', 'vary', 'etag', 'cache-control'])
      expect([name, head.headers[name]]).toEqual([name, answer.headers[name]]);
    if (head.headers['content-length'] !== undefined)
      expect(head.headers['content-length']).toBe(String(answer.bytes.length));
  });

  it('leave the others as they are: records, counts, small lists, writes and errors', async () => {
    const headers = { 'Accept-Encoding': 'br, gzip' };
    const todo = { title: 'Tea', description: 'x'.repeat(5_000) };
    const whole = { headers: { ...headers, Prefer: 'return=representation' } };
    const created = await app.post('/todos', todo, whole);
    const id = (created.body as { _id: string })._id;
    expect([created.status, created.headers.get('content-encoding')]).toEqual([201, null]);
    for (const path of [`/todos/${id}`, '/health/live', '/metrics', '/todos?limit=0']) {
      const answer = await received(app, path, headers);
      expect([path, answer.headers['content-encoding']]).toEqual([path, undefined]);
    }
    await app.del(`/todos/${id}`);
    const small = await received(app, '/todos?limit=1', headers);
    expect([small.headers['content-encoding'], small.headers.vary]).toEqual([
      undefined,
      expect.stringContaining('Accept-Encoding'),
    ]);
    const live = await open(app, '/events', { ...headers, Authorization: `Bearer ${acme}` });
    expect([live.statusCode, live.headers['content-encoding']]).toEqual([200, undefined]);
    live.destroy();
  });

  it.each([
    [undefined, undefined],
    ['', undefined],
    ['identity', undefined],
    ['deflate, br, zstd', undefined],
    ['gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['gzip, deflate, br, zstd', 'gzip'],
    ['gzip;q=0, *', undefined],
    ['*', 'gzip'],
    ['*;q=0', undefined],
    ['gzip;q=0.5, identity', undefined],
    ['identity;q=0.5, gzip', 'gzip'],
    ['gzip;q=2', undefined],
  ])('for Accept-Encoding: %s', async (accepted, coding) => {
    const headers = accepted === undefined ? undefined : { 'Accept-Encoding': accepted };
    const answer = await received(app, '/todos?limit=50', headers);
    expect([answer.status, answer.headers['content-encoding']]).toEqual([200, coding]);
  });
});

/** More than the sockets between a client and the service can hold, however it is compressed. */
const PARTS = 2_000;
const sources: Source[] = [];

/** Parts that do not become smaller, and then an end, an error, or nothing more. */
class Source extends Readable {
  made = 0;

  constructor(
    private readonly failsAt = Infinity,
    private readonly hangsAt = Infinity,
  ) {
    super();
    sources.push(this);
  }

  override _read(): void {
    if (this.made === this.failsAt) this.destroy(new Error('The source failed'));
    else if (this.made++ === PARTS) this.push(null);
    else if (this.made > this.hangsAt) return;
    else this.push(randomBytes(32_768));
  }
}

/** When the source of each stream fails, and when it hangs. */
const SOURCES = { whole: [], broken: [20], failed: [0], hanging: [Infinity, 1] } as const;

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
  stream(@Param('kind') kind: keyof typeof SOURCES): StreamableFile {
    return new StreamableFile(new Source(...SOURCES[kind]));
  }
}

class StreamsModule {}

describe('compressed streams', () => {
  const app = useResourceApp({ module: StreamsModule, controllers: [StreamsController] });
  const opened: IncomingMessage[] = [];
  beforeEach(() => void sources.splice(0));
  afterEach(() => opened.splice(0).forEach((response) => response.destroy()));

  async function stall(path = '/streams/whole'): Promise<IncomingMessage> {
    const response = await open(app, path, { 'Accept-Encoding': 'gzip' });
    opened.push(response);
    return response;
  }

  it('are made as their client reads them, and end when it goes away', async () => {
    const seen = app.logLines.length;
    const response = await stall();
    expect(response.headers['content-encoding']).toBe('gzip');
    // Another one that is read for a while: time enough for this one to run ahead, if it did.
    const other = await stall();
    let bytes = 0;
    for await (const part of other) if ((bytes += (part as Buffer).length) > 8_000_000) break;
    const [source] = sources;
    expect(source?.made).toBeLessThan(PARTS / 2);
    response.destroy();
    await eventually(() => expect(sources.map(({ destroyed }) => destroyed)).toEqual([true, true]));
    await eventually(() => expect(app.logLines.slice(seen)).toHaveLength(2));
    expect(app.logLines.slice(seen).map(({ level }) => level)).not.toContain('error');
  });

  it('break off if their source fails, and never end as if complete', async () => {
    const reading = received(app, '/streams/broken', { 'Accept-Encoding': 'gzip' });
    await expect(reading).rejects.toMatchObject({ code: 'ECONNRESET' });
  });

  it('become an uncompressed error if nothing has been sent yet', async () => {
    const { status, headers, bytes } = await received(app, '/streams/failed', { 'Accept-Encoding': 'gzip' });
    expect([status, headers['content-encoding']]).toEqual([500, undefined]);
    expect(JSON.parse(bytes.toString())).toMatchObject({ code: 'INTERNAL_ERROR' });
  });

  it('are 32 at a time; others are sent as they are, until one ends', async () => {
    const codings: (string | undefined)[] = [];
    for (let i = 0; i < 33; i++) codings.push((await stall('/streams/hanging')).headers['content-encoding']);
    expect(codings).toEqual([...Array.from({ length: 32 }, () => 'gzip'), undefined]);
    opened[0]?.destroy();
    await eventually(async () =>
      expect((await stall('/streams/hanging')).headers['content-encoding']).toBe('gzip'),
    );
  });

  it('have a weak ETag, since their bytes differ by their coding', async () => {
    const compressed = await received(app, '/streams/tagged', { 'Accept-Encoding': 'gzip' });
    expect(compressed.headers.etag).toBe('W/"1"');
    expect((await received(app, '/streams/tagged')).headers.etag).toBe('"1"');
  });
});

class SheetInput {
  @IsText({ max: 20_000 }) text!: string;
}

@Schema({ timestamps: true })
class Sheet extends SheetInput {}

describe('a list whose route opts out', () => {
  const routes = { list: { decorators: [Compressed(false)] } };
  const app = useResourceApp(
    CrudModule.forFeature({ entity: Sheet, input: SheetInput, name: 'sheets', routes }),
  );

  it('is not compressed', async () => {
    await app.post('/sheets', { text: 'x'.repeat(10_000) });
    for (const path of ['/sheets', '/sheets?limit=10']) {
      const { headers } = await received(app, path, { 'Accept-Encoding': 'gzip' });
      expect([headers.vary, headers['content-encoding']]).toEqual(['Accept', undefined]);
    }
  });
});
