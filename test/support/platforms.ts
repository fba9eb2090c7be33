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
  type NestInterceptor,
  Post,
  Query,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Schema } from '@nestjs/mongoose';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import type { FastifyInstance } from 'fastify';
import { map, type Observable } from 'rxjs';
import {
  createCrudApp,
  CrudController,
  CrudModule,
  crudOptions,
  CurrentScope,
  currentTenant,
  IsIdentifier,
  IsText,
  type TenantScope,
} from '../../src/index.js';
import { freshDatabaseUri } from './mongodb.js';
import { TEST_SECRET } from './tenants.js';

class NoteInput {
  @IsText({ min: 1, max: 5_000 }) text!: string;
  @IsText({ max: 20, optional: true }) seal?: string;
}
@Schema({ timestamps: true })
class Note extends NoteInput {
  @IsIdentifier() tenant!: string;
}
const notes = crudOptions({
  entity: Note,
  input: NoteInput,
  name: 'notes',
  isolationFields: { all: { tenant: currentTenant } },
  query: { filter: ['text'] },
  bulk: true,
  import: true,
});

/** An error of the application's own, which a global filter names. */
class QuotaError extends Error {}

@Injectable()
class NotesController extends CrudController(notes) {
  override create(@CurrentScope() scope: TenantScope, input: NoteInput) {
    if (input.text === 'too many') throw new QuotaError();
    if (input.text === 'teapot') throw new BadRequestException('No tea.');
    return super.create(scope, input);
  }
}

/** A filter that names the error that it handles. */
@Catch(QuotaError)
export class QuotaFilter implements ExceptionFilter {
  catch(_error: QuotaError, host: ArgumentsHost) {
    const response = host
      .switchToHttp()
      .getResponse<{ status(code: number): { send(body: object): void } }>();
    response.status(402).send({ quota: 'used up' });
  }
}

@Catch()
export class CatchAll implements ExceptionFilter {
  catch(_error: unknown, host: ArgumentsHost) {
    const response = host
      .switchToHttp()
      .getResponse<{ status(code: number): { send(body: object): void } }>();
    response.status(418).send({ caught: true });
  }
}

/** What the guards and interceptors of the application have seen. */
export const seen: string[] = [];
/** A guard of the application. */
@Injectable()
export class OwnGuard implements CanActivate {
  canActivate(context: ExecutionContext) {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    seen.push(`guard ${context.getHandler().name}`);
    return headers['x-barred'] === undefined;
  }
}
export class OwnInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    seen.push(`interceptor ${context.getHandler().name}`);
    return next.handle().pipe(map((value: unknown) => value));
  }
}

class Greeting {
  text!: string;
}
@Controller('own')
class OwnController {
  constructor(@Inject('GREETING') private readonly greeting: Greeting) {}
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
  static of(): DynamicModule {
    return {
      module: ShopModule,
      imports: [
        CrudModule.forRoot({ database: { uri: freshDatabaseUri() }, tokens: { secret: TEST_SECRET } }),
        CrudModule.forFeature(notes, { controller: NotesController }),
      ],
      controllers: [OwnController],
      providers: [{ provide: 'GREETING', useValue: { text: 'hello' } }],
    };
  }
}

const quiet = { logger: false as const };
const testing = async () =>
  Test.createTestingModule({ imports: [ShopModule.of()] })
    .overrideProvider('GREETING')
    .useValue({ text: 'hello' })
    .compile();
/** The ways to make an application of the same module. */
export const PLATFORMS: Record<string, () => Promise<INestApplication>> = {
  Express: () => NestFactory.create(ShopModule.of(), quiet),
  'Express of a testing module': async () => (await testing()).createNestApplication(quiet),
  Fastify: () => NestFactory.create(ShopModule.of(), new FastifyAdapter(), quiet),
  'Fastify of a testing module': async () =>
    (await testing()).createNestApplication(new FastifyAdapter(), quiet),
  createCrudApp: () => createCrudApp(ShopModule.of(), { logLevel: 'silent' }),
};
