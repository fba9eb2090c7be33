/** @mongodb */
import { expectInvalid } from '../../support/problems.js';
import { useTestApp } from '../../support/test-app.js';

describe('filters and orders of todos', () => {
  const app = useTestApp();
  beforeEach(() => app.empty());

  const create = (body: object) => app.post('/todos', body);
  const titles = async (query: string) =>
    ((await app.get(`/todos?${query}`)).body as { title: string }[]).map(({ title }) => title);

  it('search for texts of up to a thousand characters, from any plane', async () => {
    await create({ title: '𐐀'.repeat(200) });
    for (const operator of ['contains', 'startsWith']) {
      expect(await titles(`title[${operator}]=${encodeURIComponent('𐐨'.repeat(200))}`)).toHaveLength(1);
      expect(await titles(`title[${operator}]=${encodeURIComponent('𐐨'.repeat(1_000))}`)).toEqual([]);
    }
  });

  it('keep the records that satisfy every condition', async () => {
    await create({ title: 'Tea', dueAt: '2026-01-01T00:00:00Z' });
    await create({ title: 'Coffee', completed: true });
    await create({ title: 'Cake (a+)+$ now', completed: true, dueAt: '2026-03-01T00:00:00Z' });
    expect(await titles('title=Tea')).toEqual(['Tea']);
    expect(await titles('title[in]=Tea,Coffee')).toEqual(['Coffee', 'Tea']);
    expect(await titles('title[contains]=(A%2B)%2B$')).toEqual(['Cake (a+)+$ now']);
    expect(await titles('completed=true&dueAt[exists]=false')).toEqual(['Coffee']);
    expect(await titles('dueAt[gte]=2026-01-01T01:00:00%2B01:00&sort=dueAt')).toEqual([
      'Tea',
      'Cake (a+)+$ now',
    ]);
    expect(await titles('dueAt[ne]=2026-01-01T00:00:00Z&sort=title')).toEqual(['Cake (a+)+$ now', 'Coffee']);
    expect((await app.get('/todos/count?completed=true')).body).toEqual({ count: 2 });
  });

  it('refuse anything undeclared, and list what is declared', async () => {
    expectInvalid(
      await app.get('/todos?description=x&title[regex]=a&sort=-description&fields=__v'),
      '/todos',
      {
        parameter: 'description',
        detail:
          '"description" is not a parameter here. Allowed: offset, limit, after, before, count, sort, fields, q, _id, title, completed, dueAt, createdAt, updatedAt.',
      },
      {
        parameter: 'title[regex]',
        detail: '"title" has no operator "regex". Allowed: eq, ne, in, nin, exists, contains, startsWith.',
      },
      {
        parameter: 'fields',
        detail:
          '"__v" is not a field of the records here. Allowed: _id, title, description, completed, dueAt, createdAt, updatedAt.',
      },
      {
        parameter: 'sort',
        detail:
          '"-description" is not an order here. Allowed: -createdAt; createdAt; -updatedAt; updatedAt; dueAt; -dueAt; title; -title; completed,dueAt; -completed,-dueAt.',
      },
    );
  });
});
