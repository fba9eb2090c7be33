import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { Environment } from './config/index.js';

type PathItem = OpenAPIObject['paths'][string];
type Operation = NonNullable<PathItem['get']>;

/** What the explorer says of an application. */
export interface ApiDescription {
  readonly title: string;
  /** Markdown. */
  readonly description: string;
  /** What each group of routes is about, in the order of the page. */
  readonly tags: Readonly<Record<string, string>>;
}

/** What the explorer says of the service itself. */
export function postsAndTodosApi({ todosApi }: Environment): ApiDescription {
  return {
    title: 'Posts and todos',
    description:
      'Multi-tenant posts and todos. Reads of posts are public; writes need a bearer token that names a tenant ' +
      '(in development: `npm run token -- --tenant <24 hex digits>`). Every error is `application/problem+json`.',
    tags: {
      CMS: 'Posts: public reads, writes within the tenant',
      Todos: `Todos, in the ${todosApi} form`,
      Notifications: 'What happened to the records of your tenant',
      Health: 'What an orchestrator asks a process',
    },
  };
}

/** The OpenAPI document of the application. */
function createApiDocument(app: INestApplication, api: ApiDescription): OpenAPIObject {
  const builder = new DocumentBuilder()
    .setTitle(api.title)
    .setDescription(api.description)
    .setVersion('1')
    .setLicense('MIT', 'https://opensource.org/license/mit')
    .addServer('/')
    .addBearerAuth({
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
      description: 'A JSON Web Token with a tenant',
    });
  for (const [tag, description] of Object.entries(api.tags)) builder.addTag(tag, description);
  return explicit(SwaggerModule.createDocument(app, builder.build()));
}

/** Serves the explorer at /docs and the document at /docs/openapi.json. */
export function useExplorer(app: INestApplication, api: ApiDescription): void {
  SwaggerModule.setup('docs', app, () => createApiDocument(app, api), {
    jsonDocumentUrl: 'docs/openapi.json',
    yamlDocumentUrl: 'docs/openapi.yaml',
    customSiteTitle: `${api.title}: API explorer`,
    swaggerOptions: { persistAuthorization: true, tryItOutEnabled: true, displayRequestDuration: true },
  });
}

/** The order of a path's operations in the document; other methods follow, by their names. */
const METHOD_ORDER = ['post', 'get', 'put', 'patch', 'delete'];

/**
 * Says aloud what is so by default: that objects have no other fields (bodies with more are refused, and responses never
 * have more; of what a function makes no field is known, and it stays open), and that an operation without a bearer token needs none. Lists the operations in one order everywhere.
 */
function explicit(document: OpenAPIObject): OpenAPIObject {
  for (const schema of Object.values(document.components?.schemas ?? {})) {
    const { properties = {} } = schema as { properties?: object };
    if ('properties' in schema) schema.additionalProperties = Object.keys(properties).length === 0;
  }
  for (const path of Object.values(document.paths)) {
    for (const operation of Object.values(path)) {
      if (isOperation(operation)) operation.security ??= [];
    }
  }
  const paths = sorted(document.paths, byName);
  document.paths = Object.fromEntries(paths.map(([path, item]) => [path, inOrder(item)]));
  return document;
}

function inOrder(path: PathItem): PathItem {
  return Object.fromEntries(sorted(path, (a, b) => rankOf(a) - rankOf(b) || byName(a, b)));
}

function rankOf(method: string): number {
  const rank = METHOD_ORDER.indexOf(method);
  return rank === -1 ? METHOD_ORDER.length : rank;
}

/** Every operation has `responses` (OpenAPI 3.0, section 4.7.10); the other members of a path have none. */
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
