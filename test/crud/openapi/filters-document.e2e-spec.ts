import { useTestApp } from '../../support/test-app.js';

interface Condition {
  oneOf?: { properties: { in?: { example: unknown } } }[];
}
interface Document {
  paths: Record<string, { get: { parameters: { name: string; in: string; schema: object }[] } }>;
  components: { schemas: { PostWhere: { properties: Record<string, Condition> } } };
}

describe('the parameters of a query in the document', () => {
  let document: Document;
  const app = useTestApp();
  beforeAll(async () => {
    document = (await app.get('/docs/openapi.json')).body as Document;
  });

  const queryOf = (path: string) =>
    document.paths[path]?.get.parameters.filter((one) => one.in === 'query') ?? [];
  const named = (path: string, name: string) => queryOf(path).find((one) => one.name === name);

  it('are those that the list, the count and one record take, and no other', () => {
    const namesOf = (path: string) => queryOf(path).map(({ name }) => name);
    const filters = ['_id', 'title', 'completed', 'dueAt', 'createdAt', 'updatedAt'];
    const paging = ['offset', 'limit', 'after', 'before', 'count'];
    expect(namesOf('/todos')).toEqual([...paging, 'sort', 'fields', 'q', ...filters]);
    expect(namesOf('/todos/count')).toEqual(['q', ...filters]);
    expect(namesOf('/todos/{id}')).toEqual(['fields']);
  });

  it('have an example of each list of values, which a query in a body accepts', async () => {
    const conditions = Object.entries(document.components.schemas.PostWhere.properties);
    const lists = conditions.flatMap(([path, { oneOf }]) => {
      const { in: list } = oneOf?.[1]?.properties ?? {};
      return list ? [{ [path]: { in: list.example } }] : [];
    });
    expect(lists).toContainEqual({ tags: { in: ['tea'] } });
    for (const where of lists) {
      const { status } = await app.post('/posts/api/query', { where });
      expect([where, status]).toEqual([where, 'deletedAt' in where ? 400 : 200]);
    }
  });

  it('describe a filter in its short form and by operators', () => {
    const time = { type: 'string', format: 'date-time' };
    const list = { type: 'string', description: expect.stringContaining('at most 100 values') };
    const properties = {
      eq: { ...time, description: 'Equal' },
      ne: { ...time, description: 'Not equal, or without the field' },
      gt: { ...time, description: 'Greater than' },
      gte: { ...time, description: 'Greater than, or equal' },
      lt: { ...time, description: 'Less than' },
      lte: { ...time, description: 'Less than, or equal' },
      in: list,
      nin: list,
      exists: { type: 'boolean', description: expect.stringContaining('not null') },
    };
    expect(named('/todos', 'dueAt')).toEqual({
      ...{ name: 'dueAt', in: 'query', required: false, style: 'deepObject', explode: true },
      description: expect.stringContaining('`dueAt[gte]=2026-12-31T12:00:00Z`'),
      schema: {
        oneOf: [time, { type: 'object', minProperties: 1, additionalProperties: false, properties }],
      },
    });
  });

  it('list the orders and the fields', () => {
    const orders = '-createdAt createdAt -updatedAt updatedAt title -title -deletedAt deletedAt'.split(' ');
    expect(named('/posts/api', 'sort')?.schema).toEqual({
      type: 'string',
      default: '-createdAt',
      enum: orders,
    });
    const fields = ['_id', 'title', 'content', 'tags', 'tenant', 'deletedAt', 'createdAt', 'updatedAt'];
    expect(named('/posts/api/{id}', 'fields')).toMatchObject({
      style: 'form',
      explode: false,
      schema: { type: 'array', minItems: 1, items: { type: 'string', enum: fields } },
    });
  });
});
