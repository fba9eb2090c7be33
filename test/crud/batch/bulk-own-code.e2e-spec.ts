import {
  type CanActivate,
  ConflictException,
  type ExecutionContext,
  Injectable,
  Param,
  UseInterceptors,
} from '@nestjs/common';
import { EventEmitter2 } from '@nestjs/event-emitter';
import { Prop, Schema } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import { tap } from 'rxjs';
import {
  CrudAction,
  CrudController,
  CrudModule,
  crudOptions,
  CrudService,
} from '../../../src/common/crud/index.js';
import type { EntityEvent } from '../../../src/common/events/index.js';
import { callerOf, currentTenant, type TenantScope } from '../../../src/common/tenancy/index.js';
import { bulk, create, ids, NoteInput, NOWHERE, results } from '../../support/bulk.js';
import { expectUnauthenticated } from '../../support/problems.js';
import { createResourceApp } from '../../support/resource-app.js';
import { ACME, GLOBEX, tokenOf } from '../../support/tenants.js';
import type { TestApp } from '../../support/test-app.js';
import { resource, feature } from '../../support/resource.js';

const [editor, reader, other] = await Promise.all([
  tokenOf(ACME, { role: 'editor' }),
  tokenOf(ACME),
  tokenOf(GLOBEX, { role: 'editor' }),
]);

describe('a feature with code of its own', () => {
  const seen: string[] = [];
  let notes: () => Promise<number>;

  const hooked = resource({
    name: 'drafts',
    fields: NoteInput,
    bulk: true,
    hooks: {
      beforeCreate: async ({ record }) => {
        if ((await notes()) >= 3) throw new ConflictException('There are three already.');
        record.sku = `${String(record.text)}!`;
      },
      afterCreate: ({ record }) => void seen.push(`created ${String(record.text)}`),
      afterUpdate: ({ record, previous }) =>
        void seen.push(`${String(previous.text)} became ${String(record.text)}`),
      beforeDel: ({ record }) => void seen.push(`deleting ${String(record.text)}`),
    },
  });

  @Injectable()
  class RolesGuard implements CanActivate {
    canActivate(context: ExecutionContext): boolean {
      return callerOf(context).claims.role === 'editor';
    }
  }

  class Archived {
    @Prop() archived!: boolean;
  }

  @Schema({ timestamps: true })
  class Page extends NoteInput {
    @Prop({ type: Types.ObjectId, required: true }) tenant!: Types.ObjectId;
    @Prop({ type: Date }) deletedAt?: Date;
  }
  const tenant = { tenant: currentTenant };
  const pages = crudOptions({
    entity: Page,
    input: NoteInput,
    name: 'pages',
    disable: ['del'],
    isolationFields: { create: tenant, update: tenant, del: tenant },
    archive: { field: 'deletedAt' },
    routes: { update: { guards: [RolesGuard], errors: [403] } },
    bulk: true,
  });

  @Injectable()
  class PagesService extends CrudService.for(pages) {
    override create(scope: TenantScope, input: NoteInput) {
      return super.create(scope, { ...input, text: input.text.toUpperCase() });
    }
  }

  class PagesController extends CrudController(pages, PagesService) {
    @UseInterceptors({
      intercept: (_context, next) => next.handle().pipe(tap(() => seen.push('intercepted'))),
    })
    override update(scope: TenantScope, id: string, changes: object) {
      return super.update(scope, id, changes);
    }

    @CrudAction(pages, {
      method: 'DELETE',
      path: ':id',
      isolatedAs: 'del',
      response: Archived,
      status: 202,
      errors: [],
    })
    async archive(scope: TenantScope, id: string): Promise<Archived> {
      await this.service.archive(scope, id);
      return { archived: true };
    }
  }
  // The parameters' decorators, without the syntax that they would need in a test's class expression.
  Param('id')(PagesController.prototype, 'archive', 1);

  let app: TestApp;
  beforeAll(async () => {
    const { CurrentScope } = await import('../../../src/common/tenancy/index.js');
    CurrentScope()(PagesController.prototype, 'archive', 0);
    app = await createResourceApp(
      CrudModule.forFeature(hooked),
      CrudModule.forFeature(pages, {
        controller: PagesController,
        service: PagesService,
        providers: [RolesGuard],
      }),
      feature({ name: 'notes', fields: NoteInput, disable: ['create', 'del'], bulk: true }),
    );
    notes = () => app.database.collection('drafts').countDocuments();
  });
  afterAll(() => app.close());
  beforeEach(async () => {
    await app.empty();
    seen.length = 0;
  });

  it('hooks run for every item, and see the effects of earlier items', async () => {
    const answered = await bulk(
      app,
      '/drafts',
      ['a', 'b', 'c', 'd', 'e'].map((text) => create(text)),
    );
    expect(results(answered)).toEqual([201, 201, 201, '409 CONFLICT', '409 CONFLICT']);
    expect(answered.body.results[3]).toMatchObject({
      detail: 'There are three already.',
      instance: '/drafts',
    });
    const [a, b] = ids(answered);
    await bulk(app, '/drafts', [
      { update: { _id: a, changes: { text: 'A' } } },
      { del: { _id: b } },
      { del: { _id: b } },
      create('f'),
    ]);
    expect(seen).toEqual(['created a', 'created b', 'created c', 'a became A', 'deleting b', 'created f']);
    const stored = await app.database.collection('drafts').find().toArray();
    expect(stored.map(({ sku }) => sku as string).sort()).toEqual(['a!', 'c!', 'f!']);
  });

  it('every item emits its event', async () => {
    const events: EntityEvent<NoteInput>[] = [];
    app.app
      .get(EventEmitter2)
      .on('pages.afterCreate', (event: EntityEvent<NoteInput>) => void events.push(event));
    const made = ids(await bulk(app, '/pages', [create('a'), create('b')], reader));
    expect(events).toEqual(
      ['A', 'B'].map((text, i) => ({
        resource: 'pages',
        action: 'create',
        record: expect.objectContaining({ _id: made[i], text, tenant: ACME }),
        changed: ['text', 'tenant'],
        tenant: ACME,
        time: expect.any(String),
      })),
    );
  });

  it('guards, interceptors and overrides of the single routes apply to the items', async () => {
    const [id] = ids(await bulk(app, '/pages', [create('a')], reader));
    const operations = [
      { update: { _id: id, changes: { text: 'b' } } },
      create('c'),
      { del: { _id: id } },
      { update: { _id: id, changes: { text: 'd' } } },
    ];
    expect(results(await bulk(app, '/pages', operations, reader))).toEqual([
      '403 FORBIDDEN',
      201,
      202,
      '403 FORBIDDEN',
    ]);
    expect(seen).toEqual([]);
    const [c] = ids(await bulk(app, '/pages', [create('c')], editor));
    const answered = await bulk(
      app,
      '/pages',
      [{ update: { _id: c, changes: { text: 'C' } } }, ...operations],
      editor,
    );
    expect(results(answered)).toEqual([200, '404 RECORD_NOT_FOUND', 201, 202, '404 RECORD_NOT_FOUND']);
    expect(seen).toEqual(['intercepted']);
    const stored = await app.database
      .collection('pages')
      .find({ deletedAt: { $exists: true } })
      .toArray();
    expect(stored.map(({ text }) => text as string)).toEqual(['A']);
  });

  it("another tenant's record answers like one that is not there, byte for byte but for the id", async () => {
    const [id = ''] = ids(await bulk(app, '/pages', [create('a')], editor));
    const about = (_id: string) => [
      { update: { _id, changes: { text: 'x' } } },
      { update: { _id, changes: {} } },
    ];
    const foreign = await bulk(app, '/pages', [...about(id), ...about(NOWHERE), create('mine')], other);
    expect(results(foreign)).toEqual([...Array<string>(4).fill('404 RECORD_NOT_FOUND'), 201]);
    const [one, two, three, four] = foreign.body.results.map((result: object) =>
      JSON.stringify(result).replaceAll(id, NOWHERE),
    );
    expect([one, two]).toEqual([three, four]);
    const stored = await app.database.collection('pages').find().sort({ _id: 1 }).toArray();
    expect(stored.map(({ text, tenant }) => [text as string, String(tenant)])).toEqual([
      ['A', ACME],
      ['MINE', GLOBEX],
    ]);
  });

  it('is refused as a whole without a token if every action needs one', async () => {
    expectUnauthenticated(await bulk(app, '/pages', [create('a')]), '/pages/bulk');
    const nobody = await bulk(app, '/pages', [create('a')], await tokenOf('acme'));
    expect([nobody.status, nobody.body.code]).toEqual([403, 'TENANT_REQUIRED']);
    expect((await bulk(app, '/pages', [create('a')], 'broken')).body.code).toBe('INVALID_TOKEN');
  });

  it('an item of a disabled action is answered like its route', async () => {
    const _id = NOWHERE;
    const answered = await bulk(app, '/notes', [
      create('a'),
      { del: { _id } },
      { update: { _id, changes: {} } },
    ]);
    const single = [await app.post('/notes', { text: 'a' }), await app.del(`/notes/${_id}`)];
    const requestId = answered.headers.get('x-request-id');
    expect(answered.body.results.slice(0, 2)).toEqual(single.map(({ body }) => ({ ...body, requestId })));
    expect(results(answered)).toEqual([
      '405 METHOD_NOT_ALLOWED',
      '405 METHOD_NOT_ALLOWED',
      '404 RECORD_NOT_FOUND',
    ]);
  });
});
