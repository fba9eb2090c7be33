/** @mongodb */
import { Get, Injectable, Param, Post, type Type, UseInterceptors } from '@nestjs/common';
import { Prop } from '@nestjs/mongoose';
import { CrudAction, CrudController, CrudModule, CrudService } from '../../../src/common/crud/index.js';
import { IsReference, IsText } from '../../../src/common/fields/index.js';
import {
  claim,
  CurrentScope,
  scopeOf,
  type TenantScope,
  unrestrictedScope,
} from '../../../src/common/tenancy/index.js';
import { expectInvalid, expectInvalidId, expectNotFound } from '../../support/problems.js';
import { serviceIn, useResourceApp } from '../../support/resource-app.js';
import { below, feature, OF_TENANT, resource } from '../../support/resource.js';
import { ACME, GLOBEX, tokenOf } from '../../support/tenants.js';

const editor = tokenOf(ACME, { role: 'editor' });
const stranger = tokenOf(GLOBEX, { role: 'editor' });
const [ada, bob] = [tokenOf(ACME, { sub: 'ada' }), tokenOf(ACME, { sub: 'bob' })];

const threads = resource({ name: 'threads', ...OF_TENANT });
/** Says nothing of the tenant: only the thread, at the top, does. */
const byRole = { kept: { role: IsText({ max: 20 }) }, isolationFields: { all: { role: claim('role') } } };
const replies = below(threads, { name: 'replies', ...byRole });

const folders = resource({
  name: 'folders',
  kept: { owner: Prop({ type: String }) },
  isolationFields: { all: { owner: claim('sub') } },
});
/** Everybody's in the tenant who may read the folder. */
const letters = below(folders, { name: 'letters', ...OF_TENANT });

/** The documented recipes of a service's own queries. */
@Injectable()
class LettersService extends CrudService.for(letters) {
  /** Names of the handlers that have run. */
  readonly ran: string[] = [];

  async texts(scope: TenantScope, handler = 'code') {
    this.ran.push(handler);
    const found: unknown[] = [];
    for await (const { text } of this.store.find(this.filterOf('get', scope))) found.push(text);
    return found;
  }

  async mark(scope: TenantScope, id: string) {
    this.ran.push('ofRecord');
    return (await this.store.findOne(this.filterOf('update', scope, id)))?.text as string;
  }

  async checked(scope: TenantScope) {
    await this.requireParent('get', scope);
    return this.texts(scope);
  }

  /** Looks at no scope at all. */
  everything(handler: string) {
    this.ran.push(handler);
    return this.store.count({});
  }
}

const response = letters.input as Type;

class LettersController extends CrudController(letters, LettersService) {
  override count(_scope: TenantScope) {
    return this.service.everything('count');
  }

  @UseInterceptors({ intercept: (_context, next) => next.handle() })
  override list(scope: TenantScope): never {
    return this.service.texts(scope, 'list') as never;
  }

  @CrudAction(letters, { method: 'GET', path: 'texts', isolatedAs: 'get', response })
  async ofAction(@CurrentScope() scope: TenantScope) {
    return { text: (await this.service.texts(scope, 'ofAction')).join() };
  }

  @CrudAction(letters, { method: 'POST', path: ':id/mark', isolatedAs: 'update', response })
  async ofRecord(@CurrentScope() scope: TenantScope, @Param('id') id: string) {
    return { text: await this.service.mark(scope, id) };
  }

  @Get('plain')
  plain(@CurrentScope() scope: TenantScope) {
    return this.service.texts(scope, 'plain');
  }

  @Post('blind')
  async blind() {
    return { count: await this.service.everything('blind') };
  }
}

const app = useResourceApp(
  threads,
  replies,
  below(replies, { name: 'reactions', ...byRole }),
  below(replies, { name: 'notes', path: 'replies/:replyId/notes', ...byRole }),
  feature({
    name: 'bookmarks',
    fields: { reply: IsReference(() => replies.entity) },
    ...OF_TENANT,
    references: { reply: { to: replies.entity } },
  }),
  folders,
  CrudModule.forFeature(letters, { controller: LettersController, service: LettersService }),
);
beforeEach(() => app.empty());

describe('resources with two levels of parents', () => {
  const created = (path: string) => app.create(path, { text: 'Hello' }, editor);
  const replied = async () => {
    const thread = await created('/threads');
    return { thread, reply: await created(`/threads/${thread}/replies`) };
  };

  it.each(['long', 'short'])('exist only for the tenant of the top level, by a %s path', async (length) => {
    const { thread, reply } = await replied();
    const path =
      length === 'long' ? `/threads/${thread}/replies/${reply}/reactions` : `/replies/${reply}/notes`;
    const one = `${path}/${await created(path)}`;
    expect((await app.get(path, { token: editor })).body).toMatchObject([{ text: 'Hello', reply }]);
    expect((await app.patch(one, { text: 'Mine' }, { token: editor })).body).toEqual({ updated: true });

    const foreign = { token: stranger };
    for (const at of [path, `${path}?limit=1`, `${path}/count`, one])
      expectNotFound(await app.get(at, foreign), at.split('?', 1)[0] ?? at, 'Reply');
    expectNotFound(await app.post(path, { text: 'Hello' }, foreign), path, 'Reply');
    expectNotFound(await app.patch(one, { text: 'Yours' }, foreign), one, 'Reply');
    expectNotFound(await app.del(one, foreign), one, 'Reply');
    expect((await app.get(one, { token: editor })).body.text).toBe('Mine');
    expect((await app.del(one, { token: editor })).body).toEqual({ deleted: true });
  });

  it('are not found below a thread that the reply does not belong to', async () => {
    const [{ reply }, { thread }] = [await replied(), await replied()];
    const path = `/threads/${thread}/replies/${reply}/reactions`;
    expectNotFound(await app.get(path, { token: editor }), path, 'Reply');
    expectNotFound(await app.post(path, { text: 'Hello' }, { token: editor }), path, 'Reply');
  });

  it.each(['1', 'abcdefghijkl', '%00'])('refuse the id %s at the top by its name', async (id) => {
    const instance = `/threads/${id}/replies/${ACME}/reactions`;
    expectInvalidId(await app.get(instance, { token: editor }), instance, 'threadId');
  });

  it('can be referred to from elsewhere by those who can read them', async () => {
    const { reply } = await replied();
    await app.create('/bookmarks', { reply }, editor);
    expectInvalid(await app.post('/bookmarks', { reply }, { token: stranger }), '/bookmarks', {
      pointer: '/reply',
      detail: '"reply" names no reply that you can use.',
    });
  });
});

describe('the parent', () => {
  let service: LettersService;
  let path: string;
  let id: string;
  beforeAll(() => void (service = serviceIn(app, letters.entity)));
  beforeEach(async () => {
    const folder = await app.create('/folders', { text: 'x' }, ada);
    path = `/folders/${folder}/letters`;
    id = String((await service.create(unrestrictedScope(), { text: "Ada's", folder, tenant: ACME }))._id);
    service.ran.length = 0;
  });

  /** Sends a request whose answer the OpenAPI document does not know. */
  const send = (method: 'GET' | 'POST', url: string, token?: string) =>
    app.app.inject({ method, url, headers: token === undefined ? {} : { authorization: `Bearer ${token}` } });

  it.each<[string, 'GET' | 'POST', string, string]>([
    ['an override', 'GET', '', 'list'],
    ['an override that asks for no scope', 'GET', '/count', 'count'],
    ['a @CrudAction', 'GET', '/texts', 'ofAction'],
    ['a @CrudAction on one record', 'POST', '/:id/mark', 'ofRecord'],
    ['a route of plain decorators', 'GET', '/plain', 'plain'],
    ['a route that asks for no scope', 'POST', '/blind', 'blind'],
  ])('of a request is checked before %s runs', async (_kind, method, rest, handler) => {
    const to = path + rest.replace(':id', id);
    const refused = await send(method, to, bob);
    expect([refused.statusCode, refused.json()]).toMatchObject([404, { detail: 'Folder not found' }]);
    expect((await send(method, to)).statusCode).toBe(401);
    expect(service.ran).toEqual([]);
    const own = await send(method, to, ada);
    expect(own.statusCode).toBeLessThan(300);
    expect(own.body).toMatch(/Ada's|1/);
    expect(service.ran).toEqual([handler]);
  });

  const scopesOf = (owner: string) => scopeOf({ folder: path.split('/')[2], owner, tenant: ACME });

  it('of a scope made in code is checked by every verb, and before there is a filter', async () => {
    const notFound = expect.objectContaining({ code: 'RECORD_NOT_FOUND' });
    const verbs = (scope: TenantScope): (() => Promise<unknown>)[] => [
      () => service.list(scope).next(),
      () => service.page(scope, { limit: 1 }),
      () => service.count(scope),
      () => service.get(scope, id),
      () => service.create(scope, { text: 'x' }),
      () => service.update(scope, id, { text: 'x' }),
      () => service.checked(scope),
      () => service.del(scope, id),
    ];
    for (const verb of verbs(scopesOf('bob'))) await expect(verb()).rejects.toEqual(notFound);
    for (const verb of verbs(scopesOf('ada'))) await verb();
    await expect(service.texts(scopesOf('ada'))).rejects.toThrow(
      "Nobody has checked the parent of this scope of Letter. Await this.requireParent('get', scope) before you call filterOf.",
    );
    const scope = scopesOf('ada');
    expect([await service.checked(scope), await service.count(scope)]).toEqual([['x'], 1]);
    expect(await service.texts(unrestrictedScope())).toEqual(['x']);
    await app.database.collection('folders').deleteMany({});
    await expect(service.count(scope)).rejects.toEqual(notFound);
  });
});
