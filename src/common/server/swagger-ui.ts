import { hash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { PathNotFoundError, type Problem, PROBLEM_CONTENT_TYPE } from '../errors/index.js';
import { varyBy } from '../http/index.js';
import { isGzipped, isStream } from './responses.js';

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;

/** Texts about an application in its explorer. */
export interface ApiDescription {
  readonly title: string;
  /** Markdown. @default none */
  readonly description?: string;
  /** Version of the API. @default "1" */
  readonly version?: string;
  /** Licence of the API, and the URL of its text. @default none */
  readonly license?: { readonly name: string; readonly url: string };
  /** How to get a token, in Markdown. @default none */
  readonly token?: string;
  /** Description of each group of routes, in the order of the page. @default none */
  readonly tags?: Readonly<Record<string, string>>;
  /** What the application sends to its subscribers, by name. @default nothing */
  readonly webhooks?: (app: INestApplication) => OpenAPIObject['paths'];
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
      description: `A JSON Web Token with a tenant. ${api.token ?? ''}\n\nA closed padlock: the operation needs a token. An open one: it takes a token, or none.`,
    });
  if (api.license) builder.setLicense(api.license.name, api.license.url);
  for (const [tag, description] of Object.entries(api.tags ?? {})) builder.addTag(tag, description);
  const document = explicit(SwaggerModule.createDocument(app, builder.build()));
  const text = JSON.stringify({ ...document, ...(api.webhooks && { webhooks: api.webhooks(app) }) });
  // The first version with webhooks, and whose schemas are JSON Schema.
  return { ...(JSON.parse(text, converted) as OpenAPIObject), openapi: '3.1.0' };
}

/** Without top bar and servers. Every text has a contrast of 4.5 and more, and no operation is wider than a phone. */
const PAGE_STYLES = `
  .swagger-ui :is(.topbar, .servers-title, .servers) { display: none }
  .swagger-ui :is(.response-control-media-type__accept-message, .response-control-media-type__accept-message code,
    .info a, .header-col, .header-example, .parameter__in, .btn.authorize, .btn.cancel) { color: inherit !important }
  .swagger-ui :is(.opblock .opblock-summary-method, .btn.execute) { color: #111; text-shadow: none }
  .swagger-ui :is(.info .title small.version-stamp, .download-contents) { background: #3a5f2a }
  .swagger-ui .microlight span[style*="211, 99, 99"] { color: #f0a0a0 !important }
  .swagger-ui .info a { text-decoration: underline }
  .swagger-ui .opblock-body { overflow-x: auto }
`;

const VIEWPORT = '<head>\n  <meta name="viewport" content="width=device-width, initial-scale=1">';

/** Serves the explorer at /docs and the document at /docs/openapi.json. */
export function useSwaggerUi(app: INestApplication, api: ApiDescription): void {
  keepInMemory(app.getHttpAdapter().getInstance());
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
      plugins: [plugin],
      requestInterceptor: acceptScheme,
    },
  });
}

type Sampler = (schema: object, config: object, type: string, ...rest: unknown[]) => string;

/**
 * Runs in the page, as a plugin of Swagger UI: an operation that needs a token has a closed padlock, and one that takes a
 * token or none an open one; an example of lines is a line.
 */
const plugin = () => ({
  afterLoad(this: { fn: { jsonSchema202012: { getJsonSampleSchema: Sampler } } }) {
    const samples = this.fn.jsonSchema202012;
    const { getJsonSampleSchema: sample } = samples;
    samples.getJsonSampleSchema = (schema, config, type, ...rest) => {
      const text = sample(schema, config, type, ...rest);
      return type.endsWith('ndjson') ? JSON.stringify(JSON.parse(text)) : text;
    };
  },
  statePlugins: {
    auth: {
      wrapSelectors: {
        isAuthorized: () => (_state: object, security?: Iterable<{ size: number }>) =>
          [...(security ?? [])].every(({ size }) => size > 0),
      },
    },
  },
});

/** Runs in the page: a token may be pasted with its scheme. */
function acceptScheme(request: { headers: Record<string, string> }) {
  const { Authorization: value } = request.headers;
  if (value) request.headers.Authorization = value.replace(/^Bearer\s+Bearer\s+/i, 'Bearer ');
  return request;
}

/** The files of Swagger UI that the page uses. */
const FILES = [
  'favicon-16x16.png',
  'favicon-32x32.png',
  'swagger-ui-bundle.js',
  'swagger-ui-standalone-preset.js',
  'swagger-ui.css',
];

/** The page, its files and the document are the same for everybody: each is made once, and then sent from memory. */
function keepInMemory(fastify: FastifyInstance): void {
  const made = new Map<string, MadeOnce>();
  const sendKnown = (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    const known = made.get(keyOf(request));
    // It is sent whole, and has an ETag in place of a time.
    delete request.headers.range;
    delete request.headers['if-modified-since'];
    if (known) void reply.send(known.body);
    else done();
  };
  const keep = async (request: FastifyRequest, reply: FastifyReply, payload: unknown) => {
    // Swagger UI's own files change only with its package.
    if (reply.statusCode < 400 && request.routeOptions.url === '/docs/*')
      reply.header('Cache-Control', 'public, max-age=86400');
    // The server of files reads none for a HEAD.
    const isUnread = request.method === 'HEAD' && isStream(payload);
    if (reply.statusCode !== 200 || isUnread) return payload;
    const key = keyOf(request);
    const known = made.get(key) ?? (await make(payload, reply));
    made.set(key, known);
    return send(known, request, reply);
  };
  fastify.addHook('onRoute', (route) => {
    if (!/^\/docs(?:$|\/)/.test(route.url)) return;
    route.preHandler = [sendKnown, ...[route.preHandler ?? []].flat()];
    // First, since Fastify's own hook of a HEAD drops the payload.
    route.onSend = [keep, ...[route.onSend ?? []].flat()];
  });
}

/** @throws PathNotFoundError if the page has no such file */
function keyOf({ routeOptions: { url = '' }, params }: FastifyRequest): string {
  if (!url.endsWith('*')) return url;
  const file = (params as { '*': string })['*'];
  if (!FILES.includes(file)) throw new PathNotFoundError();
  return url + file;
}

type MadeOnce = Awaited<ReturnType<typeof make>>;

/** Makes a response once. As it is and compressed, it has a strong ETag of its own. */
async function make(payload: unknown, reply: FastifyReply) {
  // Nest's page has no width of a phone.
  const text = String(payload).replace('<head>', VIEWPORT);
  const body = isStream(payload) ? await buffer(payload) : Buffer.from(text);
  const compressed = await promisify(gzip)(body, { level: constants.Z_BEST_COMPRESSION });
  return { body, compressed, tag: hash('sha256', body, 'base64url'), type: reply.getHeader('Content-Type') };
}

/** Sets the headers, and returns the bytes to send: none if the client has them already. */
function send(made: MadeOnce, request: FastifyRequest, reply: FastifyReply): Buffer | string | null {
  const { body, compressed, tag, type } = made;
  const isCompressed = isGzipped(request, body.length);
  varyBy(reply, 'Accept-Encoding');
  for (const name of ['Accept-Ranges', 'Content-Length', 'Last-Modified']) reply.removeHeader(name);
  reply.headers({ 'Content-Type': type, ETag: `"${tag}${isCompressed ? '-gzip' : ''}"` });
  if (request.headers['if-none-match']?.includes(`"${tag}`)) {
    reply.code(304).removeHeader('Content-Type');
    // Fastify reads the payload of a HEAD.
    return request.method === 'HEAD' ? '' : null;
  }
  if (isCompressed) reply.header('Content-Encoding', 'gzip');
  return isCompressed ? compressed : body;
}

/** Says of objects that they have no more fields, except those that a function makes, and of open operations that they are. */
function explicit(document: OpenAPIObject): OpenAPIObject {
  for (const schema of Object.values(document.components?.schemas ?? {})) {
    const { properties = {} } = schema as { properties?: object };
    if ('properties' in schema) schema.additionalProperties = Object.keys(properties).length === 0;
  }
  for (const [path, item] of Object.entries(document.paths)) {
    for (const operation of Object.values(item).filter(isOperation)) {
      operation.security ??= [];
      nameInstance(operation, path);
    }
  }
  return document;
}

/** In the schemas of OpenAPI 3.0, which Nest writes, members of their own say that null is a value, and a bound is not. */
function converted(_name: string, value: unknown): unknown {
  const schema = Object(value) as Record<string, unknown>;
  if (schema.nullable === true && 'type' in schema) {
    schema.type = [schema.type, 'null'];
    delete schema.nullable;
  }
  for (const [bound, exclusive] of BOUNDS) {
    if (schema[exclusive] !== true) continue;
    schema[exclusive] = schema[bound];
    Reflect.deleteProperty(schema, bound);
  }
  return value;
}

const BOUNDS = [
  ['minimum', 'exclusiveMinimum'],
  ['maximum', 'exclusiveMaximum'],
] as const;

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

/** Every operation has `responses` (OpenAPI 3.0, section 4.7.10); other members of a path do not. */
function isOperation(member: unknown): member is Operation {
  return typeof member === 'object' && member !== null && 'responses' in member;
}
