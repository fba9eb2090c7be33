import { useTestApp } from '../../support/test-app.js';

interface Parameter {
  name: string;
  in: string;
  style?: string;
  explode?: boolean;
  description: string;
  schema: { oneOf?: object[]; enum?: string[]; items?: { enum: string[] } };
}

describe('the parameters of a query in the document', () => {
  let paths: Record<string, { get: { parameters: Parameter[]; responses: Record<string, object> } }>;
  const app = useTestApp();
  beforeAll(async () => {
    ({ paths } = (await app.get('/docs/openapi.json')).body);
  });

  const queryOf = (path: string) => paths[path]?.get.parameters.filter((one) => one.in === 'query') ?? [];
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
    const { components } = (await app.get('/docs/openapi.json')).body;
    const conditions = Object.entries(components.schemas.PostWhere.properties) as [
      string,
      { oneOf?: { properties: { in?: { example: unknown } } }[] },
    ][];
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
    expect(named('/todos', 'dueAt')).toEqual({
      name: 'dueAt',
      in: 'query',
      required: false,
      style: 'deepObject',
      explode: true,
      description: expect.stringContaining('`dueAt[gte]=2026-12-31T12:00:00Z`'),
      schema: {
        oneOf: [
          { type: 'string', format: 'date-time' },
          {
            type: 'object',
            minProperties: 1,
            additionalProperties: false,
            properties: {
              eq: { type: 'string', format: 'date-time', description: 'Equal' },
              ne: { type: 'string', format: 'date-time', description: 'Not equal, or without the field' },
              gt: { type: 'string', format: 'date-time', description: 'Greater than' },
              gte: { type: 'string', format: 'date-time', description: 'Greater than, or equal' },
              lt: { type: 'string', format: 'date-time', description: 'Less than' },
              lte: { type: 'string', format: 'date-time', description: 'Less than, or equal' },
              in: { type: 'string', description: expect.stringContaining('at most 100 values') },
              nin: { type: 'string', description: expect.stringContaining('at most 100 values') },
              exists: { type: 'boolean', description: expect.stringContaining('not null') },
            },
          },
        ],
      },
    });
  });

  it('list the orders and the fields', () => {
    expect(named('/posts/api', 'sort')?.schema).toEqual({
      type: 'string',
      enum: [
        '-createdAt',
        'createdAt',
        '-updatedAt',
        'updatedAt',
        'title',
        '-title',
        '-deletedAt',
        'deletedAt',
      ],
      default: '-createdAt',
    });
    expect(named('/posts/api/{id}', 'fields')).toMatchObject({
      style: 'form',
      explode: false,
      schema: {
        type: 'array',
        minItems: 1,
        items: {
          type: 'string',
          enum: ['_id', 'title', 'content', 'tags', 'tenant', 'deletedAt', 'createdAt', 'updatedAt'],
        },
      },
    });
  });

  it('let an answer be a part of the record', () => {
    const either = {
      anyOf: [{ $ref: '#/components/schemas/Todo' }, { $ref: '#/components/schemas/TodoPart' }],
    };
    expect(paths['/todos/{id}']?.get.responses['200']).toMatchObject({
      content: { 'application/json': { schema: either } },
    });
    expect(paths['/todos']?.get.responses['200']).toMatchObject({
      content: {
        'application/json': {
          schema: { oneOf: [{ type: 'array', items: either }, { $ref: '#/components/schemas/TodoPage' }] },
        },
      },
    });
  });
});
