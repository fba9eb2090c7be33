import { readFile } from 'node:fs/promises';
import { type DynamicModule, type INestApplication, type Type } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { signsTokens, TOKEN_COMMAND } from './app.banner.js';
import { PathNotFoundError, sendProblem } from './common/errors/index.js';
import { type ApiDescription, createCrudApp, type CrudAppOptions } from './common/server/index.js';
import { describeWebhooks } from './common/notifications/index.js';
import type { Environment } from './config/index.js';

export type { ApiDescription };

/** Options of an application that differ from those of the service. */
export interface AppOptions extends Pick<CrudAppOptions, 'log' | 'limits'> {
  /** Texts of the explorer. @default those of posts and todos */
  api?: ApiDescription;
}

/** Creates the application of a root module, configured and ready to listen. Also used by the tests. */
export async function createApp(
  root: Type<unknown> | DynamicModule,
  environment: Environment,
  { api, ...options }: AppOptions = {},
): Promise<NestFastifyApplication> {
  const license = { name: 'MIT', url: 'https://opensource.org/license/mit' };
  const docs = environment.docs === 'on' && { license, ...(api ?? postsAndTodosApi(environment)) };
  const app = await createCrudApp(root, { ...environment, ...options, docs });
  if (docs) leadToSwaggerUi(app);
  // It is about the service itself.
  if (docs && !api) useLivePage(app);
  return app;
}

/** Texts of the explorer about the service itself. */
function postsAndTodosApi(environment: Environment): ApiDescription {
  return {
    title: 'Posts and todos',
    description:
      'Multi-tenant posts and todos. Reads of posts are public; writes need a bearer token that names a tenant. ' +
      'Every error is `application/problem+json`. [Events](/docs/live) can be watched as they happen.',
    token: signsTokens(environment)
      ? `\`${TOKEN_COMMAND}\` prints one.`
      : 'Your identity provider issues it.',
    tags: {
      CMS: 'Posts: public reads, writes within the tenant',
      Todos: `Todos, in the ${environment.todosApi} form`,
      Notifications: 'What happened to the records of your tenant. [Watch it live](/docs/live)',
      Health: 'What an orchestrator asks a process',
    },
    webhooks: describeWebhooks,
  };
}

/** Redirects a browser that requests `/` to the explorer. For every other client, the path does not exist. */
function leadToSwaggerUi(app: INestApplication): void {
  app.getHttpAdapter().get('/', (request: FastifyRequest, reply: FastifyReply) => {
    reply.header('Vary', 'Accept');
    if (request.headers.accept?.includes('text/html')) void reply.redirect('/docs');
    else sendProblem(new PathNotFoundError(), request, reply);
  });
}

/** Next to the folder of this module, in the sources as well as in each build. */
const FOLDER = new URL('../public/live/', import.meta.url);

/** The files of the page, by path. */
const FILES = [
  { path: '/docs/live', name: 'index.html', type: 'text/html; charset=utf-8' },
  { path: '/docs/live/script.js', name: 'script.js', type: 'text/javascript; charset=utf-8' },
];

/** Serves a page at /docs/live that shows the stream of events as they arrive. */
function useLivePage(app: INestApplication): void {
  for (const { path, name, type } of FILES) {
    app.getHttpAdapter().get(path, async (_request: FastifyRequest, reply: FastifyReply) => {
      const file = await readFile(new URL(name, FOLDER));
      return reply.type(type).send(file);
    });
  }
}
