import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { FastifyInstance } from 'fastify';
import { type Problem, PROBLEM_CONTENT_TYPE } from '../errors/index.js';

type PathItem = OpenAPIObject['paths'][string];
type Operation = NonNullable<PathItem['get']>;

/** Texts about an application in its explorer. */
export interface ApiDescription {
  readonly title: string;
  /** Markdown. @default none */
  readonly description?: string;
  /** Version of the API. @default "1" */
  readonly version?: string;
  /** Licence of the API, and the URL of its text. @default none */
  readonly license?: { readonly name: string; readonly url: string };
  /** Description of each group of routes, in the order of the page. @default none */
  readonly tags?: Readonly<Record<string, string>>;
}

/** The OpenAPI document of the application. */
function createApiDocument(app: INestApplication, api: ApiDescription): OpenAPIObject {
  const builder = new DocumentBuilder()
    .setTitle(api.title)
    .setDescription(api.description ?? '')
    .setVersion(api.version ?? '1')
    .addServer('/')
    .addBearerAuth({
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
      description: 'A JSON Web Token with a tenant',
    });
  if (api.license) builder.setLicense(api.license.name, api.license.url);
  for (const [tag, description] of Object.entries(api.tags ?? {})) builder.addTag(tag, description);
  return explicit(SwaggerModule.createDocument(app, builder.build()));
}

/** Hides Swagger's own top bar, and the selection of a server, since there is only one. */
const PAGE_STYLES = '.swagger-ui .topbar, .swagger-ui .servers-title, .swagger-ui .servers { display: none }';

/** Serves the explorer at /docs and the document at /docs/openapi.json. */
export function useExplorer(app: INestApplication, api: ApiDescription): void {
  keepInMemory(app);
  cacheFiles(app);
  SwaggerModule.setup('docs', app, () => createApiDocument(app, api), {
    jsonDocumentUrl: 'docs/openapi.json',
    yamlDocumentUrl: 'docs/openapi.yaml',
    customSiteTitle: `${api.title}: API explorer`,
    customCss: PAGE_STYLES,
    swaggerOptions: {
      persistAuthorization: true,
      tryItOutEnabled: true,
      displayRequestDuration: true,
      // The schemas are folded: each operation shows the ones that it uses.
      defaultModelsExpandDepth: 0,
    },
  });
}

/**
 * Lets browsers keep the files of Swagger UI itself, which change only with its package, for a day, and revalidate
 * them by ETag afterwards.
 */
function cacheFiles(app: INestApplication): void {
  const fastify = app.getHttpAdapter().getInstance() as FastifyInstance;
  fastify.addHook('onSend', (request, reply, payload, done) => {
    if (reply.statusCode < 400 && request.routeOptions.url === '/docs/*')
      reply.header('Cache-Control', 'public, max-age=86400');
    done(null, payload);
  });
}

/** The files of Swagger UI that the page uses. */
const FILES = [
  'favicon-16x16.png',
  'favicon-32x32.png',
  'swagger-ui-bundle.js',
  'swagger-ui-standalone-preset.js',
  'swagger-ui.css',
] as const;

/** The page, its files and the document are the same for everybody: each is made once. */
function keepInMemory(app: INestApplication): void {
  const fastify = app.getHttpAdapter().getInstance() as FastifyInstance;
  fastify.addHook('onRoute', (route) => {
    const madeOnce = route.url.endsWith('*') ? FILES : true;
    if (/^\/docs(?:$|\/)/.test(route.url)) route.config = { ...route.config, madeOnce };
  });
}

/** The order of a path's operations in the document; other methods follow by name. */
const METHOD_ORDER = ['post', 'get', 'put', 'patch', 'delete'];

/**
 * Makes the implicit explicit: objects have no additional fields (bodies with more are rejected, and
 * responses never have more), except those that a function makes, whose fields are unknown; and operations
 * without a bearer token need none. Also lists the operations in the same order everywhere.
 */
function explicit(document: OpenAPIObject): OpenAPIObject {
  for (const schema of Object.values(document.components?.schemas ?? {})) {
    const { properties = {} } = schema as { properties?: object };
    if ('properties' in schema) schema.additionalProperties = Object.keys(properties).length === 0;
  }
  for (const [path, item] of Object.entries(document.paths)) {
    for (const operation of Object.values(item)) {
      if (!isOperation(operation)) continue;
      operation.security ??= [];
      nameInstance(operation, path);
    }
  }
  const paths = sorted(document.paths, byName);
  document.paths = Object.fromEntries(paths.map(([path, item]) => [path, inOrder(item)]));
  return document;
}

/** Sets the request's path in the examples of errors, which are made before a route knows its path. */
function nameInstance({ responses }: Operation, path: string): void {
  const instance = path.replaceAll(/\{[^}]+\}/g, '665f1c2ab7e3a90d4c8b4567');
  for (const response of Object.values(responses)) {
    const examples =
      response && 'content' in response ? response.content?.[PROBLEM_CONTENT_TYPE]?.examples : undefined;
    for (const example of Object.values(examples ?? {})) {
      if ('value' in example) example.value = { ...(example.value as Problem), instance };
    }
  }
}

function inOrder(path: PathItem): PathItem {
  return Object.fromEntries(sorted(path, (a, b) => rankOf(a) - rankOf(b) || byName(a, b)));
}

function rankOf(method: string): number {
  const rank = METHOD_ORDER.indexOf(method);
  return rank === -1 ? METHOD_ORDER.length : rank;
}

/** Every operation has `responses` (OpenAPI 3.0, section 4.7.10); other members of a path do not. */
function isOperation(member: unknown): member is Operation {
  return typeof member === 'object' && member !== null && 'responses' in member;
}

function sorted<T extends object>(
  object: T,
  compare: (a: string, b: string) => number,
): [string, T[keyof T]][] {
  return Object.entries(object).sort(([a], [b]) => compare(a, b)) as [string, T[keyof T]][];
}

function byName(a: string, b: string): number {
  return a < b ? -1 : 1;
}
