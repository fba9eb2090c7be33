/** @mongodb */
import { CrudController, CrudModule, type ListQuery, orderOf } from '../../../src/common/crud/index.js';
import { IsText } from '../../../src/common/fields/index.js';
import type { TenantScope } from '../../../src/common/tenancy/index.js';
import { useResourceApp } from '../../support/resource-app.js';
import { resource } from '../../support/resource.js';

const cities = resource({
  name: 'cities',
  fields: { name: IsText({ max: 20 }) },
  query: { sort: ['name'] },
  routes: { list: { summary: 'List cities by their names' } },
});

class CitiesController extends CrudController(cities) {
  override list(scope: TenantScope, query: ListQuery) {
    return super.list(scope, { order: orderOf(['name']), ...query });
  }
}

describe('an override that gives lists another order', () => {
  const app = useResourceApp(CrudModule.forFeature(cities, { controller: CitiesController }));
  beforeAll(async () => {
    for (const name of ['Bern', 'Aachen', 'Cork']) await app.post('/cities', { name });
  });

  const namesAt = async (query: string) => {
    const { body } = await app.get(`/cities${query}`);
    return ((body.results ?? body) as { name: string }[]).map(({ name }) => name);
  };

  it('applies to whole lists, pages and cursors, unless the client names an order', async () => {
    expect(await namesAt('')).toEqual(['Aachen', 'Bern', 'Cork']);
    expect(await namesAt('?limit=2')).toEqual(['Aachen', 'Bern']);
    const { next } = (await app.get('/cities?limit=2')).body as { next: string };
    expect(await namesAt(`?limit=2&after=${next}`)).toEqual(['Cork']);
    expect(await namesAt('?sort=-createdAt')).toEqual(['Cork', 'Aachen', 'Bern']);
  });
});
