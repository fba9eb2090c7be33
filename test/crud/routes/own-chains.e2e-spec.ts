import {
  type CallHandler,
  Catch,
  type ExceptionFilter,
  type ExecutionContext,
  ForbiddenException,
  Inject,
  Injectable,
  Module,
  type NestInterceptor,
  type OnModuleInit,
  type PipeTransform,
  UseFilters,
  UseInterceptors,
} from '@nestjs/common';
import { APP_PIPE, HttpAdapterHost } from '@nestjs/core';
import { Prop, Schema } from '@nestjs/mongoose';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { SignJWT } from 'jose';
import {
  CrudController,
  CrudModule,
  crudOptions,
  CrudService,
  getCrudServiceToken,
} from '../../../src/common/crud/index.js';
import { ProblemFilter } from '../../../src/common/errors/index.js';
import { IsText } from '../../../src/common/fields/index.js';
import { currentTenant, TenancyModule } from '../../../src/common/tenancy/index.js';
import { createResourceApp } from '../../support/resource-app.js';
import { ACME, GLOBEX, tokenOf } from '../../support/tenants.js';
import { createTestApp, serviceWith, type TestApp } from '../../support/test-app.js';

/** Says in a header that it has seen the request. */
class Seen implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler) {
    context.switchToHttp().getResponse<FastifyReply>().header('X-Seen', 'yes');
    return next.handle();
  }
}

class NoteInput {
  @IsText({ max: 20 }) title!: string;
}
@Schema({ timestamps: true })
class Note extends NoteInput {
  @Prop({ type: String }) tenant?: string;
}
@Schema({ timestamps: true })
class PartnerNote extends Note {}
const notes = crudOptions({ entity: Note, input: NoteInput, name: 'notes' });

describe('anything added to the chain also runs for generated routes', () => {
  const readOne = async (app: TestApp, path = '/todos') => {
    const { body } = await app.post(path, { title: 'a' });
    return app.get(`${path}/${(body as { _id: string })._id}`);
  };

  it('a global pipe', async () => {
    const seen: unknown[] = [];
    const watch: PipeTransform = {
      transform: (value) => {
        seen.push(value);
        return value as unknown;
      },
    };
    const app = await createTestApp({
      root: serviceWith({ providers: [{ provide: APP_PIPE, useValue: watch }] }),
    });
    const { body } = await readOne(app);
    expect(seen).toContain((body as { _id: string })._id);
    await app.close();
  });

  it('a filter of a controller that extends the generated one', async () => {
    @Catch()
    class Quiet implements ExceptionFilter {
      private readonly problems = new ProblemFilter();
      catch(_error: unknown, host: Parameters<ProblemFilter['catch']>[1]) {
        this.problems.catch(new ForbiddenException('Not for you.'), host);
      }
    }
    @UseFilters(Quiet)
    class NotesController extends CrudController(notes) {}
    const app = await createResourceApp(CrudModule.forFeature(notes, { controller: NotesController }));
    const response = await fetch(`${app.url}/notes/665f1c2ab7e3a90d4c8b4567`);
    expect(await response.json()).toMatchObject({ status: 403, detail: 'Not for you.' });
    await app.close();
  });

  it('an interceptor of a controller that extends the generated one', async () => {
    @UseInterceptors(Seen)
    class NotesController extends CrudController(notes) {}
    const app = await createResourceApp(CrudModule.forFeature(notes, { controller: NotesController }));
    const { headers } = await readOne(app, '/notes');
    expect(headers.get('x-seen')).toBe('yes');
    await app.close();
  });

  it.each(['hook', 'serializer'])('a %s of Fastify that changes answers', async (kind) => {
    @Module({})
    class Changes implements OnModuleInit {
      constructor(private readonly host: HttpAdapterHost) {}
      onModuleInit() {
        const fastify = this.host.httpAdapter.getInstance<FastifyInstance>();
        const changed = (answer: unknown) => ({ ...(answer as object), changed: true });
        if (kind === 'serializer') fastify.setReplySerializer((answer) => JSON.stringify(changed(answer)));
        else
          fastify.addHook('preSerialization', (_request, _reply, answer, done) =>
            done(null, changed(answer)),
          );
      }
    }
    const app = await createResourceApp(CrudModule.forFeature(notes), Changes);
    const page = (await (await fetch(`${app.url}/notes?limit=1`)).json()) as unknown;
    await app.close();
    expect(page).toMatchObject({ count: 0, changed: true });
  });

  it('another service of a controller that extends the generated one', async () => {
    @Injectable()
    class OtherNotes extends CrudService.for(notes) {
      override count = () => Promise.resolve(99);
    }
    class NotesController extends CrudController(notes) {
      @Inject(OtherNotes) declare readonly service: OtherNotes;
    }
    const app = await createResourceApp(
      CrudModule.forFeature(notes, { controller: NotesController, providers: [OtherNotes] }),
    );
    const { body } = await app.get('/notes/count');
    await app.close();
    expect(body).toEqual({ count: 99 });
  });

  it('a service that calls a verb of the generator from one of its own, whatever its name', async () => {
    class NotesService extends CrudService.for(notes) {
      patch(...args: Parameters<CrudService<Note, NoteInput>['update']>) {
        return this.update(...args);
      }
    }
    const app = await createResourceApp(CrudModule.forFeature(notes, { service: NotesService }));
    const { body } = await app.post('/notes', { title: 'a' });
    const { status } = await app.patch(`/notes/${(body as { _id: string })._id}`, { title: 'b' });
    await app.close();
    expect(status).toBe(200);
  });

  it('a verb that takes the place of the generated one while the service runs', async () => {
    const app = await createResourceApp(CrudModule.forFeature(notes));
    const service = app.app.get<CrudService<Note, NoteInput>>(getCrudServiceToken(Note), { strict: false });
    const { body } = await app.post('/notes', { title: 'a' });
    const update = jest.spyOn(service, 'update');
    await app.patch(`/notes/${(body as { _id: string })._id}`, { title: 'b' });
    const calls = update.mock.calls.length;
    await app.close();
    expect(calls).toBe(1);
  });

  it('a verifier of the tokens of one resource only', async () => {
    const isolationFields = { all: { tenant: currentTenant } };
    const secret = 'a secret of partners, of more than 32 bytes';
    const app = await createResourceApp(
      CrudModule.forFeature({ entity: Note, input: NoteInput, name: 'notes', isolationFields }),
      CrudModule.forFeature(
        { entity: PartnerNote, input: NoteInput, name: 'partner-notes', isolationFields },
        { imports: [TenancyModule.forRoot({ secret, tenantClaim: 'tenant' })] },
      ),
    );
    const partner = await new SignJWT({ tenant: GLOBEX, exp: Math.floor(Date.now() / 1000) + 3600 })
      .setProtectedHeader({ alg: 'HS256' })
      .sign(new TextEncoder().encode(secret));
    const statuses: number[] = [];
    for (const token of [await tokenOf(ACME), partner]) {
      for (const path of ['/notes?limit=1', '/partner-notes?limit=1']) {
        statuses.push(
          (await fetch(app.url + path, { headers: { Authorization: `Bearer ${token}` } })).status,
        );
      }
    }
    await app.close();
    expect(statuses).toEqual([200, 401, 401, 200]);
  });
});
