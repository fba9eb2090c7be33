import { ConflictException, Injectable, Param, UseInterceptors } from '@nestjs/common';
import { Prop } from '@nestjs/mongoose';
import type { FastifyRequest } from 'fastify';
import { tap } from 'rxjs';
import { CrudAction, CrudController, CrudModule, CrudService } from '../../../src/common/crud/index.js';
import { CurrentScope, type TenantScope } from '../../../src/common/tenancy/index.js';
import { bulk, create, ids, NoteInput, NOWHERE, results } from '../../support/bulk.js';
import { AdminGuard, guardBy } from '../../support/guarded-app.js';
import { onEvent } from '../../support/on-event.js';
import { expectInvalidId, expectUnauthenticated } from '../../support/problems.js';
import { each, storedIn } from '../../support/records.js';
import { below, type Made, OF_TENANT, type Outline, resource } from '../../support/resource.js';
import { useResourceApp } from '../../support/resource-app.js';
import { ACME, acme, globex, tokenOf } from '../../support/tenants.js';

const admin = tokenOf(ACME, { role: 'admin' });
const seen: unknown[] = [];
const MISSING = '404 RECORD_NOT_FOUND';
const ofTenant = OF_TENANT.isolationFields.all;
const noted = (outline: Outline) => resource({ fields: NoteInput, bulk: true, ...outline });

const drafts = noted({
  name: 'drafts',
  hooks: {
    beforeCreate: async ({ record }) => {
      if ((await storedIn(app, 'drafts')).length >= 3)
        throw new ConflictException('There are three already.');
      record.sku = `${String(record.text)}!`;
    },
    afterCreate: ({ record }) => void seen.push(`created ${String(record.text)}`),
    afterUpdate: ({ record, previous }) =>
      void seen.push(`${String(previous.text)} became ${String(record.text)}`),
    beforeDel: ({ record }) => void seen.push(`deleting ${String(record.text)}`),
  },
});

const pages = noted({
  name: 'pages',
  kept: { ...OF_TENANT.kept, deletedAt: Prop({ type: Date }) },
  disable: ['del'],
  isolationFields: { create: ofTenant, update: ofTenant, del: ofTenant },
  archive: { field: 'deletedAt' },
  routes: { update: { guards: [AdminGuard], errors: [403] } },
});

@Injectable()
class PagesService extends CrudService.for(pages) {
  override create(scope: TenantScope, input: Made) {
    return super.create(scope, { ...input, text: String(input.text).toUpperCase() });
  }
}

class PagesController extends CrudController(pages, PagesService) {
  @UseInterceptors({ intercept: (_context, next) => next.handle().pipe(tap(() => seen.push('intercepted'))) })
  override update(scope: TenantScope, id: string, changes: object) {
    return super.update(scope, id, changes);
  }

  @CrudAction(pages, { method: 'DELETE', path: ':id', isolatedAs: 'del', status: 202 })
  archive(@CurrentScope() scope: TenantScope, @Param('id') id: string) {
    return this.service.archive(scope, id);
  }
}

/** Guards run before there is a scope. */
const ScopeWatcher = guardBy((context) => {
  seen.push(context.switchToHttp().getRequest<FastifyRequest>().crudContext?.scope);
  return true;
});

const tickets = noted({ name: 'tickets', ...OF_TENANT, routes: { create: { guards: [ScopeWatcher] } } });
const drawers = noted({ name: 'drawers' });
const ofPages = { controller: PagesController, service: PagesService, providers: [AdminGuard] };
const [apples, pears] = ['apples', 'pears'].map((name) => noted({ name })) as [typeof drafts, typeof drafts];
class ApplesController extends CrudController(apples) {
  override create(scope: TenantScope, input: Made) {
    return super.create(scope, input);
  }
}
class PearsController extends CrudController(pears) {}
Object.assign(PearsController.prototype, { create: ApplesController.prototype.create });

const app = useResourceApp(
  CrudModule.forFeature(apples, { controller: ApplesController }),
  CrudModule.forFeature(pears, { controller: PearsController }),
  CrudModule.forFeature(pages, ofPages),
  CrudModule.forFeature(tickets, { providers: [ScopeWatcher] }),
  drafts,
  drawers,
  below(drawers, { name: 'books', fields: NoteInput, bulk: true }),
  noted({ name: 'notes', disable: ['create', 'del'] }),
  noted({ name: 'memos', kept: { tenant: Prop({ type: String }) }, isolationFields: { update: ofTenant } }),
  resource({ name: 'plain' }),
  resource({ name: 'unplain', bulk: false }),
);
beforeEach(async () => {
  await app.empty();
  seen.length = 0;
});

const update = (_id: unknown, changes: object) => ({ update: { _id, changes } });
const del = (_id: unknown) => ({ del: { _id } });

describe('a bulk of a resource with code of its own', () => {
  it('runs hooks for every item, which see the effects of earlier items', async () => {
    const five = [...'abcde'].map((text) => create(text));
    const answered = await bulk(app, '/drafts', five);
    expect(results(answered)).toEqual([201, 201, 201, '409 CONFLICT', '409 CONFLICT']);
    const problem = { detail: 'There are three already.', instance: '/drafts' };
    expect(answered.body.results[3]).toMatchObject(problem);
    const [a, b] = ids(answered);
    await bulk(app, '/drafts', [update(a, { text: 'A' }), del(b), del(b), create('f')]);
    expect(seen).toEqual(['created a', 'created b', 'created c', 'a became A', 'deleting b', 'created f']);
    expect(each(await storedIn(app, 'drafts'), 'sku')).toEqual(['a!', 'c!', 'f!']);
  });

  it('applies guards, interceptors and overrides of the single routes to the items, and emits their events', async () => {
    const events = onEvent(app, 'pages.afterCreate');
    const [id] = ids(await bulk(app, '/pages', [create('a')], acme));
    const operations = [update(id, { text: 'b' }), create('c'), del(id), update(id, { text: 'd' })];
    const ofReader = await bulk(app, '/pages', operations, acme);
    expect(results(ofReader)).toEqual(['403 FORBIDDEN', 201, 202, '403 FORBIDDEN']);
    expect(seen).toEqual([]);
    const [c] = ids(await bulk(app, '/pages', [create('c')], admin));
    const ofAdmin = await bulk(app, '/pages', [update(c, { text: 'C' }), ...operations], admin);
    expect(results(ofAdmin)).toEqual([200, MISSING, 201, 202, MISSING]);
    expect(seen).toEqual(['intercepted']);
    const archived = (await storedIn(app, 'pages')).filter(({ deletedAt }) => deletedAt);
    expect(each(archived, 'text')).toEqual(['A']);
    const event = { action: 'create', changed: ['text', 'tenant'], tenant: ACME };
    expect(events).toMatchObject(
      ['A', 'C', 'C', 'C'].map((text) => ({ ...event, record: { text, tenant: ACME } })),
    );
  });

  it('is refused as a whole without a token if every action needs one', async () => {
    expectUnauthenticated(await bulk(app, '/pages', [create('a')]), '/pages/bulk');
    const nobody = await bulk(app, '/pages', [create('a')], tokenOf('acme'));
    expect([nobody.status, nobody.body.code]).toEqual([403, 'TENANT_REQUIRED']);
    expect((await bulk(app, '/pages', [create('a')], 'broken')).body.code).toBe('INVALID_TOKEN');
  });

  it('answers an item of a disabled action like its route', async () => {
    const operations = [create('a'), del(NOWHERE), update(NOWHERE, {})];
    const answered = await bulk(app, '/notes', operations);
    const single = [await app.post('/notes', { text: 'a' }), await app.del(`/notes/${NOWHERE}`)];
    const requestId = answered.headers.get('x-request-id');
    expect(answered.body.results.slice(0, 2)).toEqual(single.map(({ body }) => ({ ...body, requestId })));
    expect(results(answered)).toEqual(['405 METHOD_NOT_ALLOWED', '405 METHOD_NOT_ALLOWED', MISSING]);
  });

  it('makes no decision for its items', async () => {
    await app.post('/tickets', { text: 'A' }, { token: acme });
    expect(results(await bulk(app, '/tickets', [create('B'), create('C')], acme))).toEqual([201, 201]);
    expect(seen).toEqual([undefined, undefined, undefined]);
  });
});

describe('a bulk of a resource with some actions that need a token', () => {
  it('answers each item by its own action', async () => {
    const operations = [create('a'), update(NOWHERE, {}), del(NOWHERE)];
    expect(results(await bulk(app, '/memos', operations))).toEqual([201, '401 UNAUTHENTICATED', MISSING]);
    expect(results(await bulk(app, '/memos', operations, acme))).toEqual([201, MISSING, MISSING]);
  });

  it("never answers a caller with the result of another caller's key", async () => {
    const post = async (token?: string) => {
      const operations = [create('a'), update(NOWHERE, {})];
      const headers = { 'Idempotency-Key': 'k1' };
      const answer = await app.post('/memos/bulk', { operations }, { token, headers });
      const isReplay = answer.headers.has('idempotency-replayed');
      return { text: answer.text, second: results(answer)[1], isReplay };
    };
    const callers = [acme, globex, undefined];
    const answers = [];
    for (const token of callers) answers.push(await post(token));
    expect(each(answers, 'isReplay')).toEqual([false, false, false]);
    expect(each(answers, 'second')).toEqual([MISSING, MISSING, '401 UNAUTHENTICATED']);
    for (const [i, token] of callers.entries())
      expect(await post(token)).toEqual({ ...answers[i], isReplay: true });
    // A token that does not verify is none.
    expect((await post('no-token')).text).toBe(answers[2]?.text);
  });
});

it('the items of a bulk run on their own controller, also if another one shares its methods', async () => {
  for (const name of ['apples', 'pears', 'apples'])
    expect(results(await bulk(app, `/${name}`, [create(name)]))).toEqual([201]);
  for (const [name, count] of [
    ['apples', 2],
    ['pears', 1],
  ] as const)
    expect(each(await storedIn(app, name), 'text')).toEqual(Array(count).fill(name));
});

it('the items of a bulk below another record are below the parent that the path names', async () => {
  const [one = '', two = ''] = ids(await bulk(app, '/drawers', [create('one'), create('two')]));
  const [id] = ids(await bulk(app, `/drawers/${one.toUpperCase()}/books`, [create('a')]));
  expect((await app.get(`/drawers/${one}/books/${id}`)).body).toMatchObject({ text: 'a', drawer: one });
  expect(results(await bulk(app, `/drawers/${two}/books`, [del(id)]))).toEqual([MISSING]);
  const missing = await bulk(app, `/drawers/${NOWHERE}/books`, [create('a')]);
  expect(missing.body.results[0]).toMatchObject({ status: 404, detail: 'Drawer not found' });
  const malformed = await bulk(app, '/drawers/x/books', [create('a')]);
  expectInvalidId(malformed, '/drawers/x/books/bulk', 'drawerId');
});

it.each(['plain', 'unplain'])('there is no bulk without the option: %s', async (name) => {
  const answered = await bulk(app, `/${name}`, [create('a')]);
  expect([answered.status, answered.body.code]).toEqual([405, 'METHOD_NOT_ALLOWED']);
});
