import { createTestApp } from '../support/test-app.js';

interface Document {
  paths: Record<string, object>;
  components: { schemas: Record<string, object> };
}

/** What this compares of the operations of paths. */
type Paths = Partial<Record<string, { get?: { parameters?: { name: string }[] } }>> &
  Record<'/todos', { get?: { parameters?: { name: string }[] } }>;

let generated: Document;
let handwritten: Document;
beforeAll(async () => {
  const documents = ['generated', 'handwritten'].map(async (form) => {
    const app = await createTestApp({ env: { TODOS_API: form } });
    const { text } = await app.get('/docs/openapi.json');
    await app.close();
    return JSON.parse(text) as Document;
  });
  [generated, handwritten] = (await Promise.all(documents)) as [Document, Document];
});

it('the document describes both forms of the todo API alike, except for features of only one', () => {
  const {
    '/todos': { get: list, ...todos },
    '/todos/count': count,
    '/todos/bulk': bulk,
    '/todos/query': query,
    '/todos/import': lines,
    ...paths
  } = generated.paths as Paths;
  expect([count, bulk, query, lines]).not.toContain(undefined);
  const { '/todos': { get: ownList, ...ownTodos } = {}, ...ownPaths } = handwritten.paths as Paths;
  expect(ownPaths).toEqual(paths);
  expect(ownTodos).toEqual(todos);
  const [parameters, ownParameters] = [list, ownList].map((operation) => operation?.parameters ?? []);
  expect(ownParameters?.map(({ name }) => name)).toEqual(['offset', 'limit']);
  expect(ownParameters).toEqual(parameters?.slice(0, 2));
  const { TodoPage: page, ...schemas } = handwritten.components.schemas;
  expect(Object.keys((page as { properties: object }).properties)).toEqual(['results', 'count']);
  expect(generated.components.schemas).toMatchObject(schemas);
});

it('the document lists which fields of an update null removes, and no impossible errors', () => {
  const { paths, components } = generated;
  expect(components.schemas.TodoUpdate).toMatchObject({
    properties: {
      description: { type: ['string', 'null'] },
      completed: { type: ['boolean', 'null'] },
      dueAt: { type: ['string', 'null'] },
    },
  });
  expect(JSON.stringify(components.schemas.TodoUpdate)).toMatch(/"title":\{(?:(?!null)[^}])*\}/);
  const ofRecords = Object.entries(paths as object).filter(([path]) => !path.endsWith('/rotate-secret'));
  expect(JSON.stringify(ofRecords)).not.toMatch(/Duplicate value|Write conflict|Still referenced/);
});

it('the document requires fields with a default in records, and not in what is sent', () => {
  const schemas = generated.components.schemas as Record<string, { required?: string[] }>;
  const requires = (name: string, field: string) => schemas[name]?.required?.includes(field) ?? false;
  expect(['Todo', 'TodoPart', 'TodoCreate', 'TodoUpdate'].map((name) => requires(name, 'completed'))).toEqual(
    [true, false, false, false],
  );
  expect(['Subscription', 'SubscriptionUpdate'].map((name) => requires(name, 'enabled'))).toEqual([
    true,
    false,
  ]);
});

it('the document has the body of an update in both of its types, and the header of a missing token', () => {
  type Update = { requestBody: { content: object }; responses: Record<string, { headers?: object }> };
  const { requestBody, responses } = (generated.paths['/posts/api/{id}'] as { patch: Update }).patch;
  const body = { schema: { $ref: '#/components/schemas/PostUpdate' } };
  expect(requestBody.content).toEqual({ 'application/json': body, 'application/merge-patch+json': body });
  expect(responses[401]?.headers).toHaveProperty('WWW-Authenticate');
});
