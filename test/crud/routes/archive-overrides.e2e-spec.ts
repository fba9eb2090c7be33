import { Get, Header, UseInterceptors } from '@nestjs/common';
import { Prop } from '@nestjs/mongoose';
import { describeCrudContract } from '../../../src/common/crud/testing/index.js';
import {
  CrudAction,
  CrudController,
  CrudModule,
  crudOptions,
  CrudService,
  CurrentQuery,
  CurrentScope,
  currentTenant,
  IsListOf,
  IsText,
  type ListQuery,
  scopeOf,
  type TenantScope,
  unrestrictedScope,
} from '../../../src/index.js';
import { OF_TENANT, resource } from '../../support/resource.js';
import { createResourceApp, serviceIn, useResourceApp } from '../../support/resource-app.js';
import { sendTo } from '../../support/send-to.js';
import { ACME, acme, GLOBEX, globex } from '../../support/tenants.js';

class Label {
  @Prop({ unique: true }) @IsText({ max: 20 }) code!: string;
}

const tenant = { tenant: currentTenant };
const cards = resource({
  name: 'cards',
  fields: {
    text: IsText({ min: 1, max: 80, example: 'Wish you were here' }),
    labels: IsListOf(() => Label, { max: 3, optional: true }),
  },
  kept: { ...OF_TENANT.kept, deletedAt: Prop({ type: Date }) },
  isolationFields: { create: tenant, update: tenant, del: tenant },
  archive: { field: 'deletedAt' },
});
const bare = crudOptions({ ...cards, archive: undefined });

/** Every way in which a feature may put its own in the place of a public read, or beside it. */
class CardsController extends CrudController(cards) {
  @UseInterceptors({ intercept: (_context, next) => next.handle() })
  override list(scope: TenantScope, query: ListQuery) {
    return super.list(scope, query);
  }

  @Get('count')
  @Header('X-Counted', 'yes')
  override count(@CurrentScope() scope: TenantScope, @CurrentQuery() query: ListQuery) {
    return this.service.count(scope, query);
  }

  override get(scope: TenantScope, id: string) {
    return this.service.get(scope, id, { archived: 'include' });
  }

  @CrudAction(cards, { method: 'GET', path: 'own', isolatedAs: 'count', query: 'list' })
  async own(@CurrentScope() scope: TenantScope, @CurrentQuery() query: ListQuery) {
    return { count: await this.service.count(scope, query) };
  }

  @CrudAction(cards, { method: 'GET', path: 'trash', isolatedAs: 'get' })
  async trash(@CurrentScope() scope: TenantScope) {
    return { count: await this.service.count(scope, { archived: 'only' }) };
  }

  @CrudAction(cards, { method: 'GET', path: 'bin', isolatedAs: 'del' })
  async bin(@CurrentScope() scope: TenantScope) {
    return { count: await this.service.count(scope, { archived: 'only' }) };
  }
}

const app = useResourceApp(CrudModule.forFeature(cards, { controller: CardsController }));
const unarchived = useResourceApp(bare);

/** Asks without the document, which knows an own action's answer as a record. */
const ask = (path: string, token?: string) => sendTo(app.url, 'GET', `/cards${path}`, { token });

describe('public reads of one’s own', () => {
  let id: string;
  beforeAll(async () => {
    await app.empty();
    id = await app.create('/cards', { text: 'kept by acme' }, acme);
    await app.del(`/cards/${id}`, { token: acme });
  });

  it.each([
    ...['?archived=only', '?archived=include&limit=5', '/count?archived=only'],
    ...['/:id?archived=include', '/:id', '/own?archived=only', '/trash', '/bin'],
  ])('show archived records to nobody without a token: %s', async (path) => {
    const { status, text } = await ask(path.replace(':id', id));
    expect([status, text]).toEqual([401, expect.not.stringContaining('kept by acme')]);
  });

  it('show a tenant only its own, and need no token for live ones', async () => {
    expect((await ask('?archived=only', acme)).body).toMatchObject([{ _id: id }]);
    expect((await ask('?archived=only', globex)).text).toBe('[]');
    for (const [path, mine, theirs] of [
      ['/count?archived=only', 1, 0],
      ['/own?archived=only', 1, 0],
      ['/bin', 1, 0],
      ['/count', 0, 0],
    ] as const) {
      expect((await ask(path, acme)).text).toBe(JSON.stringify({ count: mine }));
      expect((await ask(path, globex)).text).toBe(JSON.stringify({ count: theirs }));
    }
    expect((await ask(`/${id}?archived=only`, globex)).status).toBe(404);
    expect([(await ask('')).text, (await ask('/count')).text]).toEqual(['[]', '{"count":0}']);
    // Its action needs no token, so the caller is nobody there.
    expect((await ask('/trash', acme)).status).toBe(401);
  });
});

describe('a resource with an archive', () => {
  let made = 0;
  const plain = useResourceApp(cards);

  describeCrudContract('cards', {
    app: () => plain.app,
    path: '/cards',
    valid: () => ({ text: 'Wish you were here', labels: [{ code: `L${++made}` }] }),
    changes: { text: 'Back on Monday' },
    token: () => acme,
    otherToken: () => globex,
  });

  it('frees unique values inside of lists, too', async () => {
    const body = { text: 'labelled', labels: [{ code: 'A' }] };
    const _id = await plain.create('/cards', body, acme);
    expect((await plain.post('/cards', body, { token: acme })).status).toBe(409);
    await plain.del(`/cards/${_id}`, { token: acme });
    await plain.create('/cards', body, acme);
  });
});

describe('the verbs in code', () => {
  const [mine, theirs] = [scopeOf({ tenant: ACME }), scopeOf({ tenant: GLOBEX })];

  it('archive, read and restore within their scope', async () => {
    await app.empty();
    const service = serviceIn(app, cards.entity);
    const { _id } = await service.create(mine, { text: 'a' });
    expect(await service.archive(theirs, _id)).toBeUndefined();
    expect((await service.del(mine, _id)).deletedAt).toBeInstanceOf(Date);
    expect(await service.archive(mine, _id)).toBeUndefined();
    const again = await service.archive(mine, _id, { archived: 'include', ifMatch: '"1"' });
    expect(again).toMatchObject({ _id, __v: 2 });
    expect(await service.count(mine, { archived: 'only' })).toBe(1);
    expect(await service.count(theirs, { archived: 'include' })).toBe(0);
    expect(await service.count(unrestrictedScope(), { archived: 'include' })).toBe(1);
    expect(await service.count(scopeOf({}))).toBe(0);
    const none = service.count(scopeOf({}), { archived: 'only' });
    await expect(none).rejects.toThrow('The scope has no "tenant"');
    await expect(service.restore(theirs, _id)).rejects.toThrow('Card not found');
    await expect(service.restore(mine, _id, { ifMatch: '"1"' })).rejects.toThrow('has changed since');
    expect(await service.restore(mine, _id, { ifMatch: '"2"' })).not.toHaveProperty('deletedAt');
  });

  it('report that there is no archive', async () => {
    const service = serviceIn(unarchived, bare.entity);
    const { _id } = await service.create(mine, { text: 'a' });
    for (const verb of [
      () => service.count(mine, { archived: 'only' }),
      () => service.get(mine, _id, { archived: 'include' }),
      () => service.archive(mine, _id),
      () => service.restore(mine, _id),
    ])
      await expect(verb()).rejects.toThrow('Card has no archive.');
  });
});

describe('the routes of an archive', () => {
  const path = `/cards/${'0'.repeat(24)}/restore`;

  it('include no restore if updates are disabled, or without an archive', async () => {
    await using disabled = await createResourceApp({ ...cards, disable: ['update'] });
    for (const app of [disabled, unarchived])
      expect((await app.request('POST', path, { token: acme })).body.code).toBe('PATH_NOT_FOUND');
  });

  it('do not affect a method of that name if there is no archive', async () => {
    class OwnService extends CrudService.for(bare) {}
    class OwnController extends CrudController(bare, OwnService) {
      @CrudAction(bare, { method: 'POST', path: ':id/restore', isolatedAs: 'update', status: 200 })
      override restore(@CurrentScope() scope: TenantScope) {
        return this.service.create(scope, { text: 'restored by hand' });
      }
    }
    const overrides = { controller: OwnController, service: OwnService };
    await using app = await createResourceApp(CrudModule.forFeature(bare, overrides));
    const { status, body } = await app.request('POST', path, { token: acme });
    expect([status, body.text]).toEqual([200, 'restored by hand']);
  });
});
