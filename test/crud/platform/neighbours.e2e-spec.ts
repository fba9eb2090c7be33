import { once } from 'node:events';
import type { Server } from 'node:http';
import http2 from 'node:http2';
import { gzipSync } from 'node:zlib';
import {
  Body,
  type CanActivate,
  Controller,
  Delete,
  Inject,
  type INestApplication,
  Injectable,
  Post,
  Scope,
  VersioningType,
} from '@nestjs/common';
import { APP_FILTER, APP_GUARD, REQUEST } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { CrudController, CrudModule } from '../../../src/index.js';
import { eventually } from '../../support/eventually.js';
import { PLATFORMS, QuotaFilter, senderTo } from '../../support/platforms.js';
import { RawConnection } from '../../support/raw-http.js';
import { resource } from '../../support/resource.js';
import { ACME, acme as token } from '../../support/tenants.js';

@Controller({ path: 'notes', version: '1' })
class OldNotes {
  @Post() create() {
    return { _id: 'old' };
  }
}

const MEMOS = resource({ name: 'memos', bulk: true, disable: ['del'] });
const memos = CrudModule.forFeature(MEMOS);
/** A controller whose paths end like those of a resource, and one of whose paths begins like them. */
@Controller()
class Archive {
  @Delete('archive/memos/:id') del() {
    return {};
  }
  @Post('memos/scan') scan(@Body() body: unknown) {
    return { body };
  }
}

@Injectable({ scope: Scope.REQUEST })
class ScopedQuotaFilter extends QuotaFilter {}
/** Nest makes one for each request, which it looks at in place of its argument. */
@Injectable({ scope: Scope.REQUEST })
class ScopedGuard implements CanActivate {
  constructor(@Inject(REQUEST) private readonly request: { method: string }) {}
  canActivate() {
    return this.request.method !== 'PATCH';
  }
}

let app: INestApplication;
let send: Awaited<ReturnType<typeof senderTo>>;
afterEach(() => app.close());

async function start(created: INestApplication, use: (started: INestApplication) => void = () => undefined) {
  app = created;
  use(app);
  await app.listen(0, '127.0.0.1');
  send = await senderTo(app);
}
/** Expects that bodies, merge patches and lines are read. */
async function expectRead() {
  const path = `/notes/${(await send('POST', '/notes', { text: 'a note' })).body._id as string}`;
  expect((await send('PATCH', path, '{"seal":"wax"}', patch)).status).toBe(200);
  expect((await send('GET', path)).body).toMatchObject({ text: 'a note', seal: 'wax' });
  const imported = await send('POST', '/notes/import', '{"text":"b"}\n', lines);
  expect(imported.text).toContain('"status":201');
}
const NDJSON = 'application/x-ndjson';
const lines = { 'Content-Type': NDJSON };
const patch = { 'Content-Type': 'application/merge-patch+json' };

describe.each(['Express', 'Fastify'] as const)('beside code of the application on %s', (platform) => {
  const create = PLATFORMS[platform];

  it.each([
    ['the path', VersioningType.URI, '/v2/notes', {}],
    ['a header', VersioningType.HEADER, '/notes', { 'X-Version': '2' }],
  ] as const)('carries out items in the version of a batch, by %s', async (_by, type, path, headers) => {
    await start(await create({ controllers: [OldNotes] }), (started) =>
      started.enableVersioning({ type, header: 'X-Version', defaultVersion: '2' } as never),
    );
    const operations = [{ create: { text: 'new' } }];
    const bulk = await send('POST', `${path}/bulk`, { operations }, headers);
    const imported = await send('POST', `${path}/import`, '{"text":"new"}\n', { ...headers, ...lines });
    expect(bulk.body.results).toEqual([{ status: 201, _id: expect.stringMatching(/^[\da-f]{24}$/) }]);
    expect(imported.text).toMatch(/"_id":"[\da-f]{24}"/);
    const { body } = await send('GET', `${path}/count`, undefined, headers);
    expect(body).toEqual({ count: 2 });
  });

  it('keeps to its own routes, however those of the application begin and end', async () => {
    await start(await create({ imports: [memos], controllers: [Archive] }));
    const { body } = await send('POST', '/memos/bulk', { operations: [{ del: { _id: ACME } }] });
    expect(body.results).toMatchObject([{ code: 'PATH_NOT_FOUND' }]);
    const malformed = await send('POST', '/memos/scan', '{"a":');
    expect([malformed.status, malformed.body.statusCode]).toEqual([400, 400]);
  });

  it('asks guards of each request about each item, and lets filters of each request handle errors', async () => {
    const guard = { provide: APP_GUARD, useClass: ScopedGuard };
    await start(await create({ providers: [guard, { provide: APP_FILTER, useClass: ScopedQuotaFilter }] }));
    const operations = [{ create: { text: 'a' } }, { update: { _id: ACME, changes: { text: 'b' } } }];
    const { body } = await send('POST', '/notes/bulk', { operations });
    expect(body.results).toMatchObject([{ status: 201 }, { status: 403 }]);
    const quota = await send('POST', '/notes', { text: 'too many' });
    expect([quota.status, quota.body]).toEqual([402, { quota: 'used up' }]);
    expect((await send('POST', '/notes', {})).body.code).toBe('VALIDATION_FAILED');
  });

  /** Sends requests on one connection, and returns what the answers have, such as statuses, once as many have arrived. */
  async function statusesOf(text: string, count: number, wanted = /(?<=HTTP\/1.1 )\d+/g): Promise<string[]> {
    const client = new RawConnection(await app.getUrl());
    client.write(text);
    const statuses = () => client.received.match(wanted) ?? [];
    await eventually(() => expect(statuses()).toHaveLength(count));
    return statuses();
  }
  const headOf = (line: string, type: string, authorization: string) =>
    `${line} HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\nAuthorization: Bearer ${authorization}\r\nContent-Type: ${type}\r\n`;

  const large = `10000\r\n${'x'.repeat(65_536)}\r\n`.repeat(40);
  const small = '1\r\nx\r\n'.repeat(6_000);
  it.each([
    ['an import without a token', 'POST /notes/import', 'none', '401', large],
    ['an import of small chunks', 'POST /notes/import', '', '400', small],
    ['lines where one record is created', 'POST /notes', '', '415', large],
  ])('takes the next request of a connection after it has refused %s', async (...args) => {
    const [, line, authorization, status, chunks] = args;
    await start(await create());
    const refused = `${headOf(line, NDJSON, authorization || token)}Transfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`;
    const next = `${headOf('GET /notes/count', NDJSON, token)}\r\n`;
    expect(await statusesOf(refused + next, 2)).toEqual([status, '200']);
  });

  it('answers an import that fails before its first line as a problem', async () => {
    await start(await create());
    const sent = `${headOf('POST /notes/import', NDJSON, token)}Transfer-Encoding: chunked\r\n\r\n${small}`;
    expect(await statusesOf(sent, 1, /(?<="code":")\w+/g)).toEqual(['MALFORMED_REQUEST']);
  });

  it('stops while the client of an import is still sending', async () => {
    await start(await create());
    (app.getHttpServer() as Server).keepAliveTimeout = 0;
    const line = '10\r\n{"text":"begun"}\r\n1\r\n\n\r\n';
    const begun = `${headOf('POST /notes/import', NDJSON, token)}Transfer-Encoding: chunked\r\n\r\n${line}`;
    expect(await statusesOf(begun, 1)).toEqual(['200']);
    await app.close();
  });

  it('rejects a compressed merge patch, and bytes that only claim to be compressed', async () => {
    await start(await create());
    const gzip = { 'Content-Encoding': 'gzip' };
    const seal = gzipSync('{"seal":"wax"}');
    expect((await send('PATCH', `/notes/${ACME}`, seal, { ...patch, ...gzip })).status).toBe(415);
    const broken = await send('POST', '/notes', 'no gzip', gzip);
    expect(broken.body).toMatchObject({ status: platform === 'Express' ? 400 : 415, instance: '/notes' });
  });
});

describe('beside middleware of an Express', () => {
  it.each<[string, (app: NestExpressApplication) => unknown]>([
    ['reads all bodies as text', (express) => express.useBodyParser('text', { type: '*/*' })],
    ['reads all bodies as bytes', (express) => express.useBodyParser('raw', { type: '*/*' })],
    [
      'gives each request a body',
      (express) =>
        express.use((incoming: { body?: object }, _: unknown, next: () => void) => {
          incoming.body ??= {};
          next();
        }),
    ],
  ])('reads bodies where the application %s', async (_case, use) => {
    await start(await PLATFORMS.Express(), (started) => use(started as NestExpressApplication));
    await expectRead();
  });

  it('gives the answer to a write the path and the tag of the record, and no other', async () => {
    await start(await PLATFORMS.Express());
    const created = await send('POST', '/notes/', { text: 'a' });
    const path = `/notes/${created.body._id as string}`;
    expect(created.headers.get('location')).toBe(path);
    const changed = await send('PATCH', path, { seal: 'wax' });
    expect([changed.status, changed.headers.get('etag')]).toEqual([200, '"1"']);
    const deleted = await send('DELETE', path);
    expect([deleted.status, deleted.headers.get('etag')]).toEqual([200, null]);
  });
});

describe('beside what an application has set up on its Fastify', () => {
  it('leaves the types that resources read to the parsers of the application', async () => {
    await start(await PLATFORMS.Fastify({ imports: [memos], controllers: [Archive] }), (started) => {
      const fastify = started.getHttpAdapter().getInstance() as FastifyInstance;
      fastify.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
    });
    for (const headers of [lines, patch]) {
      const scanned = await send('POST', '/memos/scan', '{"any":1}\n', headers);
      expect([scanned.status, scanned.body]).toEqual([201, { body: '{"any":1}\n' }]);
    }
    await expectRead();
  });

  it('takes injected requests, and closes after them', async () => {
    app = await PLATFORMS.Fastify();
    await app.init();
    const headers = { authorization: `Bearer ${token}` };
    const answer = await (app as NestFastifyApplication).inject({ url: '/notes', headers });
    expect([answer.statusCode, answer.body]).toEqual([200, '[]']);
  });

  it('rejects a body over HTTP/2 that is too large, and takes the next request', async () => {
    app = await PLATFORMS.Fastify({}, { http2: true });
    await app.listen(0, '127.0.0.1');
    const session = http2.connect(await app.getUrl());
    const statusOf = async (method: string, path: string, body?: string) => {
      const headers = { ':method': method, ':path': path, authorization: `Bearer ${token}`, ...patch };
      const stream = session.request(headers).end(body);
      const [answer] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders];
      stream.close();
      return answer[':status'];
    };
    const text = 'x'.repeat(1_100_000);
    expect(await statusOf('PATCH', `/notes/${ACME}`, JSON.stringify({ text }))).toBe(413);
    expect(await statusOf('GET', '/notes/count')).toBe(200);
    session.destroy();
  });
});

it('a path that has its method in another version only is a 404 of createCrudApp', async () => {
  @Controller({ version: '1' })
  class OldMemos extends CrudController(MEMOS) {}
  const imports = [CrudModule.forFeature(MEMOS, { controller: OldMemos })];
  await start(await PLATFORMS.createCrudApp({ imports, controllers: [OldNotes] }), (started) =>
    started.enableVersioning({ type: VersioningType.HEADER, header: 'X-Version', defaultVersion: '2' }),
  );
  const statuses: number[] = [];
  for (const path of ['/notes', '/memos'])
    for (const version of ['1', '2'])
      statuses.push((await send('GET', `${path}/count`, undefined, { 'X-Version': version })).status);
  expect(statuses).toEqual([404, 200, 200, 404]);
});
