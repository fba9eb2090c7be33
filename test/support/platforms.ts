import {
  type ArgumentsHost,
  BadRequestException,
  Body,
  type CallHandler,
  type CanActivate,
  Catch,
  Controller,
  type DynamicModule,
  type ExceptionFilter,
  type ExecutionContext,
  Get,
  Headers,
  Inject,
  type INestApplication,
  Injectable,
  Module,
  type ModuleMetadata,
  type NestInterceptor,
  Post,
  Query,
  ValidationPipe,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { getConnectionToken } from '@nestjs/mongoose';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Connection, mongo } from 'mongoose';
import { map, type Observable } from 'rxjs';
import {
  createCrudApp,
  CRUD_CONNECTION,
  CrudController,
  CrudModule,
  CurrentScope,
  IsText,
  type TenantScope,
} from '../../src/index.js';
import { ApiDocument } from './api-document.js';
import { freshDatabaseUri } from './mongodb.js';
import { type Made, OF_TENANT, resource } from './resource.js';
import { parsedBody, sendTo } from './send-to.js';
import { acme, TEST_SECRET } from './tenants.js';

const notes = resource({
  name: 'notes',
  fields: { text: IsText({ min: 1, max: 5_000 }), seal: IsText({ max: 20, optional: true }) },
  ...OF_TENANT,
  query: { filter: ['text'] },
  bulk: true,
  import: true,
});

/** An error of the application's own, which a global filter names. */
class QuotaError extends Error {}

@Injectable()
class NotesController extends CrudController(notes) {
  override create(@CurrentScope() scope: TenantScope, input: Made) {
    if (input.text === 'too many') throw new QuotaError();
    if (input.text === 'teapot') throw new BadRequestException('No tea.');
    return super.create(scope, input);
  }
}

const answer = (host: ArgumentsHost, status: number, body: object) =>
  host.switchToHttp().getResponse<Pick<FastifyReply, 'status'>>().status(status).send(body);
@Catch(QuotaError)
export class QuotaFilter implements ExceptionFilter {
  catch(_error: QuotaError, host: ArgumentsHost) {
    answer(host, 402, { quota: 'used up' });
  }
}
@Catch()
class CatchAll implements ExceptionFilter {
  catch(_error: unknown, host: ArgumentsHost) {
    answer(host, 418, { caught: true });
  }
}

/** What the guards and interceptors of the application have seen. */
export const seen: string[] = [];
@Injectable()
class OwnGuard implements CanActivate {
  canActivate(context: ExecutionContext) {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    seen.push(`guard ${context.getHandler().name}`);
    return headers['x-barred'] === undefined;
  }
}
class OwnInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    seen.push(`interceptor ${context.getHandler().name}`);
    return next.handle().pipe(map((value: unknown) => value));
  }
}

@Controller('own')
class OwnController {
  constructor(@Inject('GREETING') private readonly greeting: { text: string }) {}
  @Get() read(@Query() query: object) {
    return { ...this.greeting, query };
  }
  @Post() write(@Body() body: unknown, @Headers('content-type') type: string) {
    return { body, type };
  }
  @Post('bytes') count(@Body() body: Buffer) {
    return { bytes: body.length };
  }
}

/** Has an application read bodies of bytes, in the way of its platform. */
export function readBytes(app: INestApplication): void {
  const type = 'application/octet-stream';
  if (app.getHttpAdapter().getType() === 'express')
    return void (app as NestExpressApplication).useBodyParser('raw', { type });
  const fastify = app.getHttpAdapter().getInstance() as FastifyInstance;
  fastify.addContentTypeParser(type, { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
}

@Module({})
class ShopModule {
  static of({ imports = [], controllers = [], providers = [] }: ModuleMetadata = {}): DynamicModule {
    return {
      module: ShopModule,
      imports: [
        CrudModule.forRoot({ database: { uri: freshDatabaseUri() }, tokens: { secret: TEST_SECRET } }),
        CrudModule.forFeature(notes, { controller: NotesController }),
        ...imports,
      ],
      controllers: [OwnController, ...controllers],
      providers: [{ provide: 'GREETING', useValue: { text: 'hello' } }, ...providers],
    };
  }
}

const quiet = { logger: false as const };
const testing = async (more?: ModuleMetadata) =>
  Test.createTestingModule({ imports: [ShopModule.of(more)] })
    .overrideProvider('GREETING')
    .useValue({ text: 'hello' })
    .compile();
type Platforms = Record<string, (more?: ModuleMetadata, options?: object) => Promise<INestApplication>>;
/** The ways to make an application of the same module, which may have more in it. */
export const PLATFORMS: Platforms & Record<'Express' | 'Fastify' | 'createCrudApp', Platforms[string]> = {
  Express: (more) => NestFactory.create(ShopModule.of(more), quiet),
  'Express of a testing module': async (more) => (await testing(more)).createNestApplication(quiet),
  Fastify: (more, options) => NestFactory.create(ShopModule.of(more), new FastifyAdapter(options), quiet),
  'Fastify of a testing module': async (more) =>
    (await testing(more)).createNestApplication(new FastifyAdapter(), quiet),
  createCrudApp: (more) => createCrudApp(ShopModule.of(more), { logLevel: 'silent' }),
};

/** Compares every answer of an application that listens, whoever asks, with its document. @returns ends it */
export async function compareAnswers(app: INestApplication, document: object): Promise<() => void> {
  const [url, known, real] = [await app.getUrl(), ApiDocument.of(JSON.stringify(document)), globalThis.fetch];
  globalThis.fetch = async (target, init) => {
    const response = await real(target, init);
    if (typeof target !== 'string' || !target.startsWith(url)) return response;
    const { headers, status } = response;
    const [path = '', query = ''] = target.slice(url.length).split('?');
    const body = parsedBody(headers.get('content-type'), await response.clone().text());
    known.check({ method: init?.method ?? 'GET', path, query, status, headers, body });
    return response;
  };
  return () => void (globalThis.fetch = real);
}

/** A function that sends requests to an application that listens, with the token of a tenant. */
export async function senderTo(app: INestApplication, token = acme) {
  const url = (await app.getUrl()).replace('[::1]', '127.0.0.1');
  return (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    sendTo(url, method, path, { body, token, headers });
}

interface Running {
  app: INestApplication;
  send: Awaited<ReturnType<typeof senderTo>>;
}
/** An application for the tests around, once it listens, and a function that sends requests to it. */
export function useRunning(start: () => Promise<INestApplication>, token?: string): Running {
  const running = {} as Running;
  beforeAll(async () => {
    running.app = await start();
    await running.app.listen(0, '127.0.0.1');
    running.send = await senderTo(running.app, token);
  });
  afterAll(() => running.app.close());
  return running;
}

/** Starts resources on a plain platform, beside a guard, an interceptor, a pipe and filters of the application's own. */
export async function createPlainApp(platform: 'Express' | 'Fastify', imports: DynamicModule[]) {
  const app = await PLATFORMS[platform]({ imports });
  addOwnEnhancers(app);
  await app.listen(0, '127.0.0.1');
  const database = app.get<Connection>(getConnectionToken(CRUD_CONNECTION), { strict: false }).db as mongo.Db;
  const close = async () => {
    await database.dropDatabase();
    await app.close();
  };
  return { url: await app.getUrl(), database, close };
}

/** Gives an application a guard, an interceptor, a pipe and filters of its own. */
export function addOwnEnhancers(app: INestApplication, catchesAll = true): void {
  app.useGlobalGuards(new OwnGuard());
  app.useGlobalInterceptors(new OwnInterceptor());
  app.useGlobalPipes(new ValidationPipe({ whitelist: true, transform: true }));
  if (catchesAll) app.useGlobalFilters(new CatchAll());
  app.useGlobalFilters(new QuotaFilter());
}
