import { type INestApplication, Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { useLivePage } from './app.live.js';
import { PathNotFoundError, sendProblem } from './common/errors/index.js';
import { type ApiDescription, useExplorer } from './common/setup/index.js';
import type { Environment } from './config/index.js';

const LICENSE = { name: 'MIT', url: 'https://opensource.org/license/mit' };

/** Texts of the explorer about the service itself. */
function postsAndTodosApi({ todosApi }: Environment): ApiDescription {
  return {
    title: 'Posts and todos',
    description:
      'Multi-tenant posts and todos. Reads of posts are public; writes need a bearer token that names a tenant ' +
      '(in development: `npm run token -- --tenant 665f1c2ab7e3a90d4c8b0001`). Every error is `application/problem+json`. ' +
      '[Events](/docs/live) can be watched as they happen.',
    tags: {
      CMS: 'Posts: public reads, writes within the tenant',
      Todos: `Todos, in the ${todosApi} form`,
      Notifications: 'What happened to the records of your tenant',
      Health: 'What an orchestrator asks a process',
    },
  };
}

/**
 * Serves the explorer, redirects browsers to it, and for the service itself also serves the page that shows
 * events.
 *
 * @param api texts of another application
 */
export function useServiceExplorer(
  app: INestApplication,
  environment: Environment,
  api?: ApiDescription,
): void {
  leadToExplorer(app);
  useExplorer(app, { license: LICENSE, ...(api ?? postsAndTodosApi(environment)) });
  if (!api) useLivePage(app);
}

/** Redirects a browser that requests `/` to the explorer. For every other client, the path does not exist. */
function leadToExplorer(app: INestApplication): void {
  const logger = new Logger('Explorer');
  app.getHttpAdapter().get('/', (request: FastifyRequest, reply: FastifyReply) => {
    reply.header('Vary', 'Accept');
    if (request.headers.accept?.includes('text/html')) void reply.redirect('/docs');
    else sendProblem(new PathNotFoundError(), request, reply, logger);
  });
}
