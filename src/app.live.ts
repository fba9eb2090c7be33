import { readFile } from 'node:fs/promises';
import type { INestApplication } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Next to the folder of this module, in the sources as well as in each build. */
const FOLDER = new URL('../public/live/', import.meta.url);

/** The files of the page, by path. */
const FILES = [
  { path: '/docs/live', name: 'index.html', type: 'text/html; charset=utf-8' },
  { path: '/docs/live/script.js', name: 'script.js', type: 'text/javascript; charset=utf-8' },
];

/** Serves a page at /docs/live that shows the stream of events as they arrive. */
export function useLivePage(app: INestApplication): void {
  for (const { path, name, type } of FILES) {
    app.getHttpAdapter().get(path, async (_request: FastifyRequest, reply: FastifyReply) => {
      const file = await readFile(new URL(name, FOLDER));
      return reply.type(type).send(file);
    });
  }
}
