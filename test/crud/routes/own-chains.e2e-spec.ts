import {
  type CallHandler,
  Catch,
  type ExceptionFilter,
  ForbiddenException,
  Inject,
  Injectable,
  Module,
  type NestInterceptor,
  type OnModuleInit,
  type PipeTransform,
  Scope,
  type Type,
  UseFilters,
  UseInterceptors,
} from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR, APP_PIPE, HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { map } from 'rxjs';
import { ProblemFilter } from '../../../src/common/errors/index.js';
import {
  CrudController,
  CrudModule,
  CrudService,
  IsText,
  type ListQuery,
  orderOf,
  type TenantScope,
} from '../../../src/index.js';
import { TokenVerifier } from '../../../src/common/tenancy/index.js';
import { requestsOf } from '../../support/requests-of.js';
import { type Made, OF_TENANT, type Outline, resource } from '../../support/resource.js';
import { createResourceApp, serviceIn } from '../../support/resource-app.js';
import { commandsOf } from '../../support/sent-commands.js';
import { acme, forgedToken, GLOBEX, goodClaims } from '../../support/tenants.js';
import { createTestApp, serviceWith, type TestApp } from '../../support/test-app.js';

const fields = { title: IsText({ max: 20 }) };
const notes = resource({ name: 'notes', fields });
type Overrides = Parameters<typeof CrudModule.forFeature<Made, Made, Made>>[1];
const start = (overrides?: Overrides, ...modules: Type[]) =>
  createResourceApp(CrudModule.forFeature(notes, overrides), ...modules);
const created = async (app: TestApp, path = '/notes') => `${path}/${await app.create(path, { title: 'a' })}`;

describe('anything added to the chain also runs for generated routes', () => {
  it('a global pipe', async () => {
    const seen: unknown[] = [];
    const watch: PipeTransform = {
      transform: (value) => {
        seen.push(value);
        return value as unknown;
      },
    };
    const root = serviceWith({ providers: [{ provide: APP_PIPE, useValue: watch }] });
    await using app = await createTestApp({ root });
    const id = await app.create('/todos', { title: 'a' });
    await app.get(`/todos/${id}`);
    expect(seen).toContain(id);
  });

  it('a filter and an interceptor of a controller that extends the generated one', async () => {
    @Catch()
    class Quiet implements ExceptionFilter {
      private readonly problems = new ProblemFilter();
      catch(_error: unknown, host: Parameters<ProblemFilter['catch']>[1]) {
        this.problems.catch(new ForbiddenException('Not for you.'), host);
      }
    }
    const seen: NestInterceptor = {
      intercept(context, next) {
        context.switchToHttp().getResponse<FastifyReply>().header('X-Seen', 'yes');
        return next.handle();
      },
    };
    @UseFilters(Quiet)
    @UseInterceptors(seen)
    class NotesController extends CrudController(notes) {}
    await using app = await start({ controller: NotesController });
    expect((await app.get(await created(app))).headers.get('x-seen')).toBe('yes');
    const response = await fetch(`${app.url}/notes/665f1c2ab7e3a90d4c8b4567`);
    expect(await response.json()).toMatchObject({ status: 403, detail: 'Not for you.' });
  });

  it.each(['hook', 'serializer'])('a %s of Fastify that changes answers', async (kind) => {
    @Module({})
    class Changes implements OnModuleInit {
      constructor(private readonly host: HttpAdapterHost) {}
      onModuleInit() {
        const fastify = this.host.httpAdapter.getInstance<FastifyInstance>();
        const changed = (answer: unknown) => ({ ...(answer as object), changed: true });
        if (kind === 'serializer') fastify.setReplySerializer((answer) => JSON.stringify(changed(answer)));
        else fastify.addHook('preSerialization', (_0, _1, answer, done) => done(null, changed(answer)));
      }
    }
    await using app = await start({}, Changes);
    const page = await (await fetch(`${app.url}/notes?limit=1`)).json();
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
    await using app = await start({ controller: NotesController, providers: [OtherNotes] });
    expect((await app.get('/notes/count')).body).toEqual({ count: 99 });
  });

  it('an override that gives lists, pages and cursors another order, unless the client names one', async () => {
    const routes = { list: { summary: 'List rhymes by their texts' } };
    const rhymes = resource({ name: 'rhymes', tag: 'Verse', query: { sort: ['text'] }, routes });
    class RhymesController extends CrudController(rhymes) {
      override list(scope: TenantScope, query: ListQuery) {
        return super.list(scope, { order: orderOf(['text']), ...query });
      }
    }
    const overridden = CrudModule.forFeature(rhymes, { controller: RhymesController });
    await using app = await createResourceApp(overridden);
    const { paths } = (await app.get('/docs/openapi.json')).body;
    expect(paths['/rhymes'].get).toMatchObject({ tags: ['Verse'], summary: routes.list.summary });
    for (const text of ['Bern', 'Aachen', 'Cork']) await app.create('/rhymes', { text });
    const { texts } = requestsOf(app);
    expect(await texts('/rhymes')).toEqual(['Aachen', 'Bern', 'Cork']);
    expect(await texts('/rhymes?sort=-createdAt')).toEqual(['Cork', 'Aachen', 'Bern']);
    const { body: page } = await app.get('/rhymes?limit=2');
    expect(page.results).toMatchObject([{ text: 'Aachen' }, { text: 'Bern' }]);
    const { body: last } = await app.get(`/rhymes?limit=2&after=${page.next}`);
    expect(last.results).toMatchObject([{ text: 'Cork' }]);
  });

  it('a verb that takes the place of the generated one while the service runs, beside one named patch', async () => {
    class NotesService extends CrudService.for(notes) {
      patch(...args: Parameters<CrudService<Made, Made>['update']>) {
        return this.update(...args);
      }
    }
    await using app = await start({ service: NotesService });
    const update = jest.spyOn(serviceIn(app, notes.entity), 'update');
    expect((await app.patch(await created(app), { title: 'b' })).status).toBe(200);
    expect(update).toHaveBeenCalledTimes(1);
  });

  it('a verifier of the tokens of one resource only', async () => {
    const secret = 'a secret of partners, of more than 32 bytes';
    const owned = (outline: Outline) => resource({ fields, ...OF_TENANT, ...outline });
    await using app = await createResourceApp(
      owned({ name: 'notes' }),
      CrudModule.forFeature(owned({ name: 'partner-notes', class: 'PartnerNote' }), {
        providers: [{ provide: TokenVerifier, useFactory: () => new TokenVerifier({ secret }) }],
      }),
    );
    const partner = forgedToken({ alg: 'HS256' }, { ...goodClaims(), tenant: GLOBEX }, { secret });
    const statuses = [acme, partner].flatMap((token) =>
      ['/notes', '/partner-notes'].map(async (path) => (await app.get(`${path}?limit=1`, { token })).status),
    );
    expect(await Promise.all(statuses)).toEqual([200, 401, 401, 200]);
  });
});

describe('updates', () => {
  const UPDATES = 12;
  const every = (result: unknown) => Array<unknown>(UPDATES).fill(result);
  /** The results of handlers that interceptors or overrides saw. */
  let seen: unknown[] = [];
  class Watching implements NestInterceptor {
    intercept(_context: unknown, next: CallHandler) {
      return next.handle().pipe(map((result: unknown) => (seen.push(result), result)));
    }
  }
  /** The number of commands that as many updates at a time send. */
  async function commandsOfUpdates(app: TestApp): Promise<number> {
    const made = await Promise.all(Array.from({ length: UPDATES }, () => created(app)));
    seen = [];
    const sent = await commandsOf(app, async () => {
      const answers = await Promise.all(made.map((path) => app.patch(path, { title: 'New' })));
      expect(new Set(answers.map(({ text }) => text))).toEqual(new Set(['{"updated":true}']));
    });
    return sent.filter(({ name }) => name.endsWith(' notes')).length;
  }

  it('of which nobody needs the record share commands, with a global guard and interceptor as well', async () => {
    const guard = { provide: APP_GUARD, useValue: { canActivate: () => true } };
    const providers = [guard, { provide: APP_INTERCEPTOR, useClass: Watching }];
    await using app = await createResourceApp({ module: class Globals {}, providers }, notes);
    expect(await commandsOfUpdates(app)).toBeLessThan(UPDATES);
    expect(seen).toEqual(every({ updated: true }));
  });

  @UseInterceptors(Watching)
  class Watched extends CrudController(notes) {}
  class Overridden extends CrudController(notes) {
    override async update(scope: TenantScope, id: string, changes: Made) {
      const updated = await super.update(scope, id, changes);
      seen.push(updated);
      return updated;
    }
  }
  it.each([
    ['an interceptor of the class', Watched],
    ['an override', Overridden],
  ])('have a record for %s', async (_by, controller) => {
    await using app = await start({ controller });
    await commandsOfUpdates(app);
    expect(seen).toEqual(every(expect.objectContaining({ title: 'New' })));
  });
});

it('a controller that Nest makes for each request keeps nothing of another one', async () => {
  @Injectable({ scope: Scope.REQUEST })
  class Counting extends CrudController(notes) {
    private counted = 0;
    override count() {
      this.counted += 1;
      return Promise.resolve(this.counted);
    }
  }
  await using app = await start({ controller: Counting });
  for (let i = 0; i < 2; i++) expect((await app.get('/notes/count')).body).toEqual({ count: 1 });
});
