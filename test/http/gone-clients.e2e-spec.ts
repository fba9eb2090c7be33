import { EventEmitter, once } from 'node:events';
import {
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
  UseInterceptors,
} from '@nestjs/common';
import { Schema } from '@nestjs/mongoose';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CrudController, CrudModule, crudOptions } from '../../src/common/crud/index.js';
import { bulk, create, NoteInput, results } from '../support/bulk.js';
import { eventually } from '../support/eventually.js';
import { RawConnection } from '../support/raw-http.js';
import { createResourceApp } from '../support/resource-app.js';
import { useApp, useTestApp } from '../support/test-app.js';

describe('a client that resets its connection as soon as it has sent its request', () => {
  const app = useTestApp();

  it('is no fault of the service', async () => {
    const server = app.app.getHttpServer();
    let accepted = 0;
    server.on('connection', () => (accepted += 1));
    for (let i = 0; i < 20; i++) {
      const { socket } = new RawConnection(app.url);
      await once(socket, 'connect');
      socket.write('GET /todos?limit=1 HTTP/1.1\r\nHost: localhost\r\n\r\n');
      socket.resetAndDestroy();
    }
    await eventually(async () => {
      const open = await new Promise((resolve) => server.getConnections((_, count) => resolve(count)));
      expect([accepted, open]).toEqual([20, 0]);
    });
    expect((await app.get('/todos')).status).toBe(200);
    expect(app.logLines.filter(({ level }) => level === 'error')).toEqual([]);
  });
});

/** Events with as many listeners as Node warns about. */
const crowded: string[] = [];
const watched = new WeakSet<EventEmitter>();

function watch(emitter: EventEmitter): void {
  if (watched.has(emitter)) return;
  watched.add(emitter);
  emitter.on('newListener', (name: string) => {
    const most = emitter.getMaxListeners();
    if (most > 0 && emitter.listenerCount(name) >= most) crowded.push(`${emitter.constructor.name} ${name}`);
  });
}

/** Watches whether the client goes away, as code does that wants to stop its work then. */
class WatchingInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler) {
    const http = context.switchToHttp();
    const { raw } = http.getRequest<FastifyRequest>();
    const response = http.getResponse<FastifyReply>().raw;
    for (const emitter of [raw, response]) {
      watch(emitter);
      emitter.once('close', () => undefined);
    }
    response.once('pipe', () => streaming.emit('begun'));
    return next.handle();
  }
}

const streaming = new EventEmitter();

describe('code that watches whether its client goes away', () => {
  @Schema({ timestamps: true })
  class Note extends NoteInput {}
  const notes = crudOptions({ entity: Note, input: NoteInput, name: 'notes', bulk: true, import: true });
  @UseInterceptors(WatchingInterceptor)
  class NotesController extends CrudController(notes) {}

  @Schema({ timestamps: true })
  class Letter extends NoteInput {}
  const letters = crudOptions({
    entity: Letter,
    input: NoteInput,
    name: 'letters',
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
  class LettersController extends CrudController(letters) {}

  const app = useApp(() =>
    createResourceApp(
      CrudModule.forFeature(notes, { controller: NotesController }),
      CrudModule.forFeature(letters, { controller: LettersController }),
    ),
  );
  beforeEach(() => (crowded.length = 0));

  it('may do so for each operation of a bulk request, and each line of an import', async () => {
    const texts = Array.from({ length: 30 }, (_, i) => `${i}`);
    const operations = texts.map((text) => create(text));
    expect(results(await bulk(app, '/notes', operations))).toEqual(texts.map(() => 201));
    const body = texts.map((text) => `${JSON.stringify({ text })}\n`).join('');
    const headers = { 'Content-Type': 'application/x-ndjson' };
    expect((await app.request('POST', '/notes/import', { body, headers })).body).toHaveLength(30);
    expect(crowded).toEqual([]);
  });

  it('may do so for a list that is streamed', async () => {
    const { status } = await app.get('/notes', { headers: { Accept: 'application/x-ndjson' } });
    expect([status, crowded]).toEqual([200, []]);
  });

  it('may do so for a bulk request whose client is gone before its answer begins', async () => {
    const waiting = once(streaming, 'waiting');
    const body = JSON.stringify({ operations: [create('late')] });
    const client = new RawConnection(app.url);
    const head = `POST /letters/bulk HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: one\r\nContent-Type: application/json\r\n`;
    client.write(`${head}Content-Length: ${body.length}\r\n\r\n${body}`);
    await waiting;
    client.close();
    await eventually(async () => {
      expect((await app.get('/letters/count')).body).toEqual({ count: 1 });
    });
    expect(crowded).toEqual([]);
  });
});
