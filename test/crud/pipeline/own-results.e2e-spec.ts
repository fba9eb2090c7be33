import { type CallHandler, type NestInterceptor, UseInterceptors } from '@nestjs/common';
import { map } from 'rxjs';
import { CrudAction, CrudController, CrudModule, listOf, pageOf } from '../../../src/common/crud/index.js';
import { IsNumber, IsText } from '../../../src/common/fields/index.js';
import { CurrentScope, hasRole, type TenantScope } from '../../../src/common/tenancy/index.js';
import { requestsOf } from '../../support/requests-of.js';
import { OF_TENANT, type Outline, resource } from '../../support/resource.js';
import { useResourceApp } from '../../support/resource-app.js';
import { sendTo } from '../../support/send-to.js';
import { ACME, tokenOf } from '../../support/tenants.js';

class Wrap implements NestInterceptor {
  intercept(_context: unknown, next: CallHandler) {
    return next.handle().pipe(map((data: unknown) => ({ data, at: new Date(0) })));
  }
}

class Words {
  @IsText({ max: 9 }) word!: string;
}

class Envelope {
  constructor(readonly inside: unknown) {}
}

const outline: Outline = {
  ...OF_TENANT,
  name: 'people',
  class: 'Person',
  fields: { name: IsText({ max: 9 }), pay: IsNumber({ optional: true }) },
  rules: { pay: { read: hasRole('hr') } },
};
const people = resource(outline);
const decorators = [UseInterceptors(Wrap)];
const staff = resource({
  ...outline,
  name: 'staff',
  class: 'Employee',
  rules: undefined,
  output: { from: ({ pay: _, ...shown }) => shown, hides: ['pay'] },
  routes: { get: { decorators }, list: { decorators } },
});
const read = (path: string, more: object = {}) =>
  CrudAction(people, { method: 'GET', path, isolatedAs: 'get', ...more });

class PeopleController extends CrudController(people) {
  private page = (scope: TenantScope) => this.service.page(scope, { limit: 5 });

  override async list(scope: TenantScope) {
    const { results, ...rest } = await this.page(scope);
    return { results: results.map((person) => ({ ...person })), ...rest } as never;
  }

  @read('page', { response: pageOf(people.entity) })
  async copiedPage(@CurrentScope() scope: TenantScope) {
    return { ...(await this.page(scope)) };
  }

  @read('parsed')
  async parsed(@CurrentScope() scope: TenantScope) {
    return JSON.parse(JSON.stringify(await this.page(scope))) as object;
  }

  @read('inside')
  async inside(@CurrentScope() scope: TenantScope) {
    const page = await this.page(scope);
    return new Envelope(new Map([['first', [page.results[0], new Envelope(page)]]]));
  }

  @read('found')
  async found(@CurrentScope() scope: TenantScope) {
    return { query: { text: 'a' }, results: (await this.page(scope)).results, total: 1 };
  }

  @read('words', { response: listOf(Words) })
  async *words() {
    yield await Promise.resolve({ word: 'tea' });
  }

  @read('late')
  late(@CurrentScope() scope: TenantScope) {
    return { people: this.service.list(scope) };
  }
}

describe('what code of your own makes of records', () => {
  const app = useResourceApp(
    CrudModule.forFeature(people, { controller: PeopleController }),
    CrudModule.forFeature(staff),
  );
  const hr = requestsOf(app, tokenOf(ACME, { roles: ['hr'] }));
  const others = requestsOf(app, tokenOf(ACME));
  /** Not compared with the document, which knows no class of theirs. */
  const textOf = async (path: string, ...roles: string[]) =>
    (await sendTo(app.url, 'GET', path, { token: tokenOf(ACME, { roles }) })).text;
  const ada = { name: 'Ada', pay: 100 };
  beforeAll(() => hr.create('/people', ada));

  it.each(['', '/page', '/parsed', '/inside'])('shows a field to readers alone: /people%s', async (path) => {
    const text = await textOf(`/people${path}`);
    expect(text).toContain('Ada');
    expect(text).not.toMatch(/pay|__v/);
    expect(await textOf(`/people${path}`, 'hr')).toContain('"pay":100');
  });

  it('is a page if it is a copy of one, and not only because it has results of a query', async () => {
    const { results } = (await others.get('/people?limit=5')) as { results: object[] };
    expect(results).toHaveLength(1);
    expect(await others.get('/people/page')).toEqual({ results, count: 1, next: null, prev: null });
    const found = { query: { text: 'a' }, results, total: 1 };
    expect(JSON.parse(await textOf('/people/found'))).toEqual(found);
  });

  it('is shown as its output says, in what an interceptor of the route wraps it in', async () => {
    const id = await others.create('/staff', ada);
    const times = { createdAt: expect.any(String), updatedAt: expect.any(String) };
    const shown = { _id: id, name: 'Ada', tenant: ACME, ...times };
    const wrapped = { data: shown, at: '1970-01-01T00:00:00.000Z' };
    expect(JSON.parse(await textOf(`/staff/${id}`))).toEqual(wrapped);
    const page = { results: [shown], count: 1, next: null, prev: null };
    expect(JSON.parse(await textOf('/staff?limit=5'))).toEqual({ ...wrapped, data: page });
  });

  it('is of the class that the route names, also if it is read bit by bit', async () => {
    expect(await others.get('/people/words')).toEqual([{ word: 'tea' }]);
  });

  it('is an error if a list inside of it has not been read, rather than nothing', async () => {
    expect(await others.status('GET', '/people/late')).toBe(500);
    expect(app.logLines).toContainEqual(
      expect.objectContaining({
        error: expect.objectContaining({ message: expect.stringContaining('an array') as string }) as object,
      }),
    );
  });
});
