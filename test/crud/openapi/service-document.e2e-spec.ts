import { createTestApp, type TestApp, useTestApp } from '../../support/test-app.js';

interface Condition {
  oneOf?: { properties: { in?: { example: unknown } } }[];
}
interface Operation {
  parameters?: { name: string; in: string; schema: object }[];
  requestBody: { content: object };
  responses: Record<string, { headers?: object }>;
}
interface Schema {
  properties: Record<string, Condition>;
  required?: string[];
}
interface Document {
  paths: Record<string, { get?: Operation; patch?: Operation }>;
  components: { schemas: Record<string, Schema> };
}

const app = useTestApp();
const documentOf = async (of: TestApp) => (await of.get('/docs/openapi.json')).body as Document;
let document: Document;
beforeAll(async () => void (document = await documentOf(app)));

describe('the parameters of a query in the document', () => {
  const queryOf = (path: string) =>
    document.paths[path]?.get?.parameters?.filter((one) => one.in === 'query') ?? [];
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
    const conditions = Object.entries(document.components.schemas.PostWhere?.properties ?? {});
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

it('the document describes both forms of the todo API alike, except for features of only one', async () => {
  await using other = await createTestApp({ env: { TODOS_API: 'handwritten' } });
  const handwritten = await documentOf(other);
  const {
    '/todos': { get: list, ...todos } = {},
    '/todos/count': count,
    '/todos/bulk': bulk,
    '/todos/query': query,
    '/todos/import': lines,
    ...paths
  } = document.paths;
  expect([count, bulk, query, lines]).not.toContain(undefined);
  const { '/todos': { get: ownList, ...ownTodos } = {}, ...ownPaths } = handwritten.paths;
  expect(ownPaths).toEqual(paths);
  expect(ownTodos).toEqual(todos);
  const [parameters, ownParameters] = [list, ownList].map((operation) => operation?.parameters ?? []);
  expect(ownParameters?.map(({ name }) => name)).toEqual(['offset', 'limit']);
  expect(ownParameters).toEqual(parameters?.slice(0, 2));
  const { TodoPage: page, ...schemas } = handwritten.components.schemas;
  expect(Object.keys(page?.properties ?? {})).toEqual(['results', 'count']);
  expect(document.components.schemas).toMatchObject(schemas);
});

it('the document lists which fields of an update null removes, and no impossible errors', () => {
  const { paths, components } = document;
  const [text, flag] = [{ type: ['string', 'null'] }, { type: ['boolean', 'null'] }];
  const properties = { description: text, completed: flag, dueAt: text };
  expect(components.schemas.TodoUpdate).toMatchObject({ properties });
  expect(components.schemas.PostUpdate).toMatchObject({ properties: { tags: { type: ['array', 'null'] } } });
  expect(JSON.stringify(components.schemas.TodoUpdate)).toMatch(/"title":\{(?:(?!null)[^}])*\}/);
  const ofRecords = Object.entries(paths).filter(([path]) => !path.endsWith('/rotate-secret'));
  expect(JSON.stringify(ofRecords)).not.toMatch(/Duplicate value|Write conflict|Still referenced/);
});

it('the document requires fields with a default in records, and not in what is sent', () => {
  const { schemas } = document.components;
  const requiring = (field: string, ...names: string[]) =>
    names.filter((name) => schemas[name]?.required?.includes(field));
  expect(requiring('completed', 'Todo', 'TodoPart', 'TodoCreate', 'TodoUpdate')).toEqual(['Todo']);
  expect(requiring('enabled', 'Subscription', 'SubscriptionUpdate')).toEqual(['Subscription']);
});

it('the document has the body of an update in both of its types, and the header of a missing token', () => {
  const { patch } = document.paths['/posts/api/{id}'] ?? {};
  const body = { schema: { $ref: '#/components/schemas/PostUpdate' } };
  const content = { 'application/json': body, 'application/merge-patch+json': body };
  expect(patch?.requestBody.content).toEqual(content);
  expect(patch?.responses[401]?.headers).toHaveProperty('WWW-Authenticate');
});
