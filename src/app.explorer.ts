import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { Environment } from './config/index.js';

/** The OpenAPI document of the application. */
export function createApiDocument(app: INestApplication, environment: Environment): OpenAPIObject {
  const config = new DocumentBuilder()
    .setTitle('Posts and todos')
    .setDescription(
      'Multi-tenant posts and todos. Reads of posts are public; writes need a bearer token that names a tenant ' +
        '(in development: `npm run token -- --tenant <24 hex digits>`). Every error is `application/problem+json`.',
    )
    .setVersion('1')
    .setLicense('MIT', 'https://opensource.org/license/mit')
    .addServer('/')
    .addTag('CMS', 'Posts: public reads, writes within the tenant')
    .addTag('Todos', `Todos, in the ${environment.todosApi} form`)
    .addTag('Health', 'What an orchestrator asks a process')
    .addBearerAuth({
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
      description: 'A JSON Web Token with a tenant',
    })
    .build();
  return explicit(SwaggerModule.createDocument(app, config));
}

/** Serves the explorer at /docs and the document at /docs/openapi.json. */
export function useExplorer(app: INestApplication, environment: Environment): void {
  SwaggerModule.setup('docs', app, () => createApiDocument(app, environment), {
    jsonDocumentUrl: 'docs/openapi.json',
    yamlDocumentUrl: 'docs/openapi.yaml',
    customSiteTitle: 'Posts and todos: API explorer',
    swaggerOptions: { persistAuthorization: true, tryItOutEnabled: true, displayRequestDuration: true },
  });
}

/**
 * Says aloud what is so by default: that objects have no other fields (bodies with more are refused, and responses never
 * have more), and that an operation without a bearer token needs none. Lists the operations in one order everywhere.
 */
function explicit(document: OpenAPIObject): OpenAPIObject {
  for (const schema of Object.values(document.components?.schemas ?? {})) {
    if ('properties' in schema) schema.additionalProperties = false;
  }
  for (const [path, { get, post, patch, delete: del }] of Object.entries(document.paths)) {
    for (const operation of [get, post, patch, del]) if (operation) operation.security ??= [];
    document.paths[path] = { post, get, patch, delete: del };
  }
  document.paths = Object.fromEntries(Object.entries(document.paths).sort(([a], [b]) => (a < b ? -1 : 1)));
  return document;
}
