import { once } from 'node:events';
import type { Server } from 'node:http';
import {
  Body,
  type CallHandler,
  type ExecutionContext,
  Controller,
  type INestApplication,
  type MiddlewareConsumer,
  type NestModule,
  Patch,
  Post,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyRequest } from 'fastify';
import { map } from 'rxjs';
import { CrudModule } from '../../../src/index.js';
import { feature } from '../../support/resource.js';
import { freshDatabaseUri } from '../../support/mongodb.js';
import { PLATFORMS, senderTo } from '../../support/platforms.js';
import { sendTo } from '../../support/send-to.js';

let app: INestApplication;
let send: Awaited<ReturnType<typeof senderTo>>;
afterEach(() => app.close());

async function start(created: INestApplication, use: (started: INestApplication) => void) {
  app = created;
  use(app);
  await app.listen(0, '127.0.0.1');
  send = await senderTo(app);
}

describe.each(['Express', 'Fastify', 'createCrudApp'] as const)('code for all routes on %s', (platform) => {
  it('sees in a guard the route of each item of a batch', async () => {
    const patternOf = (context: ExecutionContext) => {
      const request = context.switchToHttp().getRequest<{ route?: { path: string } } & FastifyRequest>();
      return `${request.method} ${request.route?.path ?? request.routeOptions.url ?? ''}`;
    };
    const canActivate = (context: ExecutionContext) => patternOf(context) !== 'DELETE /v1/notes/:id';
    await start(await PLATFORMS[platform]({}), (started) =>
      started.setGlobalPrefix('v1').useGlobalGuards({ canActivate }),
    );
    const { _id } = (await send('POST', '/v1/notes', { text: 'a note' })).body as { _id: string };
    const operations = [{ del: { _id } }, { create: { text: 'another' } }];
    const { body } = await send('POST', '/v1/notes/bulk', { operations });
    expect(body.results).toMatchObject([{ status: 403 }, { status: 201 }]);
    expect((await send('GET', `/v1/notes/${_id}`)).status).toBe(200);
  });

  it('may put values into an envelope, and learns that streams do not fit into one', async () => {
    const intercept = (_context: unknown, next: CallHandler) =>
      next.handle().pipe(map((data: unknown) => ({ data })));
    await start(await PLATFORMS[platform]({}), (started) => started.useGlobalInterceptors({ intercept }));
    const operations = [{ create: { text: 'a note' } }];
    const { results } = (await send('POST', '/notes/bulk', { operations })).body.data as { results: object };
    expect(results).toEqual([{ status: 201, _id: expect.stringMatching(/^[\da-f]{24}$/) }]);
    const page = (await send('GET', '/notes?limit=1')).body.data;
    expect(page).toMatchObject({ results: [{ text: 'a note' }] });
    const streams = await Promise.all([
      send('GET', '/notes'),
      send('POST', '/notes/import', '{"text":"lost"}\n', { 'Content-Type': 'application/x-ndjson' }),
    ]);
    expect(streams).toMatchObject(Array(2).fill({ status: 500, body: { code: 'INTERNAL_ERROR' } }));
    expect((await send('GET', '/notes/count')).body.data).toEqual({ count: 1 });
  });

  it('may send something else than a list, as often as it likes', async () => {
    const intercept = (_context: unknown, next: CallHandler) => next.handle().pipe(map(() => 'short'));
    await start(await PLATFORMS[platform]({}), (started) => started.useGlobalInterceptors({ intercept }));
    await send('POST', '/notes', { text: 'a note' });
    for (let i = 0; i < 20; i++) expect((await send('GET', '/notes')).status).toBe(200);
  });

  it('may set members of requests by names that resources could use', async () => {
    await start(await PLATFORMS[platform]({}), (started) => {
      const own = { platform: 'ios', owner: 'ada', problem: 'none', bodyHash: 'same', scope: 'all' };
      const onRequest = (request: object, _reply: unknown, done: () => void) => {
        Object.assign(request, own);
        done();
      };
      if (platform === 'Express') (started as NestExpressApplication).use(onRequest);
      else (started as NestFastifyApplication).getHttpAdapter().getInstance().addHook('onRequest', onRequest);
    });
    const keyed = (text: string) => send('POST', '/notes', { text }, { 'Idempotency-Key': 'one' });
    expect([(await keyed('a note')).status, (await keyed('another')).status]).toEqual([201, 422]);
    expect((await send('GET', '/notes')).status).toBe(200);
  });
});

@Controller()
class Lookalikes {
  @Post('archive/memos') archive() {
    return {};
  }
  @Patch('memos/settings') settings(@Body() body: unknown) {
    return { body };
  }
}

const seen: string[] = [];
class OwnModule implements NestModule {
  configure(consumer: MiddlewareConsumer) {
    const note = ({ method }: { method: string }, _response: object, next: () => void) => {
      seen.push(method);
      next();
    };
    consumer.apply(note).forRoutes('memos/:id');
  }
}

function makeMemos(adapter = new ExpressAdapter()) {
  const root = CrudModule.forRoot({ database: { uri: freshDatabaseUri() } });
  const own = { module: OwnModule, controllers: [Lookalikes] };
  const module = { module: class MemosModule {}, imports: [own, root, feature({ name: 'memos' })] };
  return NestFactory.create(module, adapter, { logger: false });
}

it('leaves the routes of an Express alone that look like those of a resource', async () => {
  await start(await makeMemos(), () => undefined);
  expect((await send('POST', '/archive/memos', '{"a":')).body.statusCode).toBe(400);
  expect((await send('POST', '/memos', '{"a":')).body.code).toBe('MALFORMED_REQUEST');
  const body = { deep: { constructor: 1 } };
  const changed = await send('PATCH', '/memos/settings', body);
  expect([changed.body, changed.headers.get('etag')]).toEqual([{ body }, expect.stringContaining('W/')]);
});

it('runs middleware of an Express before it rejects a body', async () => {
  await start(await makeMemos(), () => undefined);
  const patch = { 'Content-Type': 'application/merge-patch+json' };
  for (const text of ['{"a":', '{"a":{"constructor":1}}'])
    expect((await send('PATCH', `/memos/${'0'.repeat(24)}`, text, patch)).body.code).toBe(
      'MALFORMED_REQUEST',
    );
  expect(seen.slice(-2)).toEqual(['PATCH', 'PATCH']);
});

it('names records of an Express that is mounted in another one by their whole path', async () => {
  const [outer, inner] = [new ExpressAdapter(), new ExpressAdapter()];
  outer.use('/shop', inner.getInstance());
  app = await makeMemos(inner);
  await app.init();
  const server = outer.getInstance<{ listen(port: number, host: string): Server }>().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const created = await sendTo(`http://127.0.0.1:${port}`, 'POST', '/shop/memos', { body: { text: 'tea' } });
  expect(created.headers.get('location')).toBe(`/shop/memos/${created.body._id as string}`);
  server.close();
});
