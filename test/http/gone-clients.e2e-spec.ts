import { EventEmitter, once } from 'node:events';
import type { Socket } from 'node:net';
import { type CallHandler, type ExecutionContext, UseInterceptors } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CrudController, CrudModule } from '../../src/common/crud/index.js';
import { bulk, create, NoteInput, results } from '../support/bulk.js';
import { eventually } from '../support/eventually.js';
import { RawConnection, rawHead } from '../support/raw-http.js';
import { resource } from '../support/resource.js';
import { useResourceApp } from '../support/resource-app.js';

/** Events with as many listeners as Node warns about. */
const crowded: string[] = [];
const watched = new WeakSet<EventEmitter>();
const streaming = new EventEmitter();

/** Watches whether the client goes away, as code does that wants to stop its work then. */
class WatchingInterceptor {
  intercept(context: ExecutionContext, next: CallHandler) {
    const http = context.switchToHttp();
    const response = http.getResponse<FastifyReply>().raw;
    for (const emitter of [http.getRequest<FastifyRequest>().raw, response]) {
      if (!watched.has(emitter))
        emitter.on('newListener', (name: string) => {
          const most = emitter.getMaxListeners();
          if (most > 0 && emitter.listenerCount(name) >= most) crowded.push(name);
        });
      watched.add(emitter);
      emitter.once('close', () => undefined);
    }
    response.once('pipe', () => streaming.emit('begun'));
    return next.handle();
  }
}

const notes = resource({ name: 'notes', fields: NoteInput, bulk: true, import: true });
const letters = resource({
  name: 'letters',
  fields: NoteInput,
  bulk: true,
  hooks: {
    // Until the answer begins without its results, because they take long.
    beforeCreate: async () => {
      const begun = once(streaming, 'begun');
      streaming.emit('waiting');
      await begun;
    },
  },
});

@UseInterceptors(WatchingInterceptor)
class NotesController extends CrudController(notes) {}

@UseInterceptors(WatchingInterceptor)
class LettersController extends CrudController(letters) {}

const app = useResourceApp(
  CrudModule.forFeature(notes, { controller: NotesController }),
  CrudModule.forFeature(letters, { controller: LettersController }),
);

it('a client that resets its connection as soon as it has sent its request is no fault of the service', async () => {
  const accepted: Socket[] = [];
  app.app.getHttpServer().on('connection', (socket: Socket) => accepted.push(socket));
  for (let i = 0; i < 20; i++) {
    const { socket } = new RawConnection(app.url);
    await once(socket, 'connect');
    socket.write(rawHead('GET /notes?limit=1'));
    socket.resetAndDestroy();
  }
  await eventually(() => expect(accepted.map(({ destroyed }) => destroyed)).toEqual(Array(20).fill(true)));
  expect((await app.get('/notes')).status).toBe(200);
  expect(app.logLines.filter(({ level }) => level === 'error')).toEqual([]);
});

describe('code that watches whether its client goes away', () => {
  beforeEach(() => (crowded.length = 0));

  it('may do so for each operation of a bulk request, each line of an import, and a list that is streamed', async () => {
    const texts = Array.from({ length: 30 }, (_, i) => `${i}`);
    const operations = texts.map((text) => create(text));
    expect(results(await bulk(app, '/notes', operations))).toEqual(texts.map(() => 201));
    const body = texts.map((text) => `${JSON.stringify({ text })}\n`).join('');
    const headers = { 'Content-Type': 'application/x-ndjson' };
    expect((await app.request('POST', '/notes/import', { body, headers })).body).toHaveLength(30);
    expect((await app.get('/notes', { headers: { Accept: 'application/x-ndjson' } })).body).toHaveLength(60);
    expect(crowded).toEqual([]);
  });

  it('may do so for a bulk request whose client is gone before its answer begins', async () => {
    const waiting = once(streaming, 'waiting');
    const body = JSON.stringify({ operations: [create('late')] });
    const client = new RawConnection(app.url);
    const headers = ['Content-Type: application/json', `Content-Length: ${body.length}`];
    client.write(rawHead('POST /letters/bulk', 'Idempotency-Key: one', ...headers) + body);
    await waiting;
    client.close();
    await eventually(async () => expect((await app.get('/letters/count')).body).toEqual({ count: 1 }));
    expect(crowded).toEqual([]);
  });
});
