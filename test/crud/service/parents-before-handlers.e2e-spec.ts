import { Get, Injectable, Param, Post, UseInterceptors } from '@nestjs/common';
import { Prop } from '@nestjs/mongoose';
import {
  CrudAction,
  CrudController,
  CrudModule,
  CrudService,
  getCrudServiceToken,
} from '../../../src/common/crud/index.js';
import { IsIdentifier, IsReference, IsText } from '../../../src/common/fields/index.js';
import {
  claim,
  currentTenant,
  CurrentScope,
  scopeOf,
  type TenantScope,
  unrestrictedScope,
} from '../../../src/common/tenancy/index.js';
import { useResourceApp } from '../../support/resource-app.js';
import { ACME, tokenOf } from '../../support/tenants.js';
import { resource } from '../../support/resource.js';

const [ada, bob] = await Promise.all([tokenOf(ACME, { sub: 'ada' }), tokenOf(ACME, { sub: 'bob' })]);

class TextInput {
  @IsText({ max: 80 }) text!: string;
}

const folders = resource({
  name: 'folders',
  kept: { owner: Prop({ type: String }) },
  isolationFields: { all: { owner: claim('sub') } },
});

class Through {
  intercept = (_context: unknown, next: { handle: () => unknown }) => next.handle() as never;
}

/** Everybody's in the tenant who may read the folder. */
const letters = resource({
  name: 'letters',
  kept: { folder: IsReference(() => folders.entity), tenant: IsIdentifier() },
  path: 'folders/:folderId/letters',
  parent: { entity: folders.entity, param: 'folderId', field: 'folder' },
  isolationFields: { all: { tenant: currentTenant } },
});

/** The documented recipes of a service's own queries. */
@Injectable()
class LettersService extends CrudService.for(letters) {
  /** Names of the handlers that have run. */
  readonly ran: string[] = [];

  async texts(scope: TenantScope) {
    const found: string[] = [];
    for await (const { text } of this.store.find({ ...this.filterOf('get', scope) }))
      found.push(text as string);
    return found;
  }

  async mark(scope: TenantScope, id: string) {
    return (await this.store.findOne(this.filterOf('update', scope, id)))?.text as string;
  }

  async checked(scope: TenantScope) {
    await this.requireParent('get', scope);
    return this.texts(scope);
  }

  /** Looks at no scope at all. */
  async everything() {
    return this.store.count({});
  }
}

class LettersController extends CrudController(letters, LettersService) {
  override count(_scope: TenantScope) {
    this.service.ran.push('count');
    return this.service.everything();
  }

  @UseInterceptors(Through)
  override list(scope: TenantScope): never {
    this.service.ran.push('list');
    return this.service.texts(scope) as never;
  }

  @CrudAction(letters, { method: 'GET', path: 'texts', isolatedAs: 'get', response: TextInput })
  async ofAction(@CurrentScope() scope: TenantScope) {
    this.service.ran.push('ofAction');
    return { text: (await this.service.texts(scope)).join() };
  }

  @CrudAction(letters, {
    method: 'POST',
    path: ':id/mark',
    isolatedAs: 'update',
    response: TextInput,
    status: 200,
  })
  async ofRecord(@CurrentScope() scope: TenantScope, @Param('id') id: string) {
    this.service.ran.push('ofRecord');
    return { text: await this.service.mark(scope, id) };
  }

  @Get('plain')
  plain(@CurrentScope() scope: TenantScope) {
    this.service.ran.push('plain');
    return this.service.texts(scope);
  }

  @Post('blind')
  async blind() {
    this.service.ran.push('blind');
    return { count: await this.service.everything() };
  }
}

let service: LettersService;
let path: string;
let id: string;
const app = useResourceApp(
  CrudModule.forFeature(folders),
  CrudModule.forFeature(letters, { controller: LettersController, service: LettersService }),
);
beforeAll(async () => {
  service = app.app.get(getCrudServiceToken(letters.entity), { strict: false });
});
beforeEach(async () => {
  await app.empty();
  const { body } = await app.post('/folders', { text: 'x' }, { token: ada });
  path = `/folders/${body._id}/letters`;
  const letter = { text: "Ada's", folder: body._id as string, tenant: ACME };
  id = String((await service.create(unrestrictedScope(), letter))._id);
  service.ran.length = 0;
});

/** Sends a request whose answer the OpenAPI document does not know. */
async function send(method: string, to: string, token?: string) {
  const headers = token === undefined ? undefined : { Authorization: `Bearer ${token}` };
  const response = await fetch(app.url + to, { method, headers });
  return { status: response.status, text: await response.text() };
}

describe('the parent of a request', () => {
  it.each([
    ['an override', 'GET', '', 'list'],
    ['an override that asks for no scope', 'GET', '/count', 'count'],
    ['a @CrudAction', 'GET', '/texts', 'ofAction'],
    ['a @CrudAction on one record', 'POST', '/:id/mark', 'ofRecord'],
    ['a route of plain decorators', 'GET', '/plain', 'plain'],
    ['a route that asks for no scope', 'POST', '/blind', 'blind'],
  ])('is checked before %s runs', async (_kind, method, below, handler) => {
    const to = path + below.replace(':id', id);
    const refused = await send(method, to, bob);
    expect([refused.status, JSON.parse(refused.text)]).toEqual([
      404,
      expect.objectContaining({ detail: 'Folder not found' }),
    ]);
    expect((await send(method, to)).status).toBe(401);
    expect(service.ran).toEqual([]);
    const own = await send(method, to, ada);
    expect(own.status).toBeLessThan(300);
    expect(own.text).toMatch(/Ada's|1/);
    expect(service.ran).toEqual([handler]);
  });
});

describe('the parent of a scope made in code', () => {
  const scopesOf = (owner: string) => scopeOf({ folder: path.split('/')[2], owner, tenant: ACME });

  it('is checked by every verb, and before there is a filter', async () => {
    const notFound = expect.objectContaining({ code: 'RECORD_NOT_FOUND' });
    const verbs = (scope: TenantScope): (() => Promise<unknown>)[] => [
      () => service.list(scope).next(),
      () => service.page(scope, { limit: 1 }),
      () => service.count(scope),
      () => service.get(scope, id),
      () => service.create(scope, { text: 'x' }),
      () => service.update(scope, id, { text: 'x' }),
      () => service.del(scope, id),
      () => service.checked(scope),
    ];
    for (const verb of verbs(scopesOf('bob'))) await expect(verb()).rejects.toEqual(notFound);
    for (const verb of verbs(scopesOf('ada')).filter((_verb, i) => i !== 6)) await verb();
    await expect(service.texts(scopesOf('ada'))).rejects.toThrow(
      "Nobody has checked the parent of this scope of Letter. Await this.requireParent('get', scope) before you call filterOf.",
    );
    expect(await service.checked(scopesOf('ada'))).toHaveLength(2);
    expect(await service.texts(unrestrictedScope())).toHaveLength(2);
  });

  it('is checked again by the next verb', async () => {
    const scope = scopesOf('ada');
    expect(await service.count(scope)).toBe(1);
    await app.database.collection('folders').deleteMany({});
    await expect(service.count(scope)).rejects.toThrow('Folder not found');
  });
});
