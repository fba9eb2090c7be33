import { createTestApp } from '../support/test-app.js';

interface Update {
  requestBody: { content: object };
  responses: Record<string, { headers?: object }>;
}

interface Document {
  paths: Record<string, { get?: { parameters?: { name: string }[] }; patch?: Update }>;
  components: { schemas: Record<string, object> };
}

async function documentOf(form: string): Promise<Document> {
  await using app = await createTestApp({ env: { TODOS_API: form } });
  return (await app.get('/docs/openapi.json')).body as Document;
}

let generated: Document;
beforeAll(async () => void (generated = await documentOf('generated')));

it('the document describes both forms of the todo API alike, except for features of only one', async () => {
  const handwritten = await documentOf('handwritten');
  const {
    '/todos': { get: list, ...todos } = {},
    '/todos/count': count,
    '/todos/bulk': bulk,
    '/todos/query': query,
    '/todos/import': lines,
    ...paths
  } = generated.paths;
  expect([count, bulk, query, lines]).not.toContain(undefined);
  const { '/todos': { get: ownList, ...ownTodos } = {}, ...ownPaths } = handwritten.paths;
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
  const [text, flag] = [{ type: ['string', 'null'] }, { type: ['boolean', 'null'] }];
  const properties = { description: text, completed: flag, dueAt: text };
  expect(components.schemas.TodoUpdate).toMatchObject({ properties });
  expect(components.schemas.PostUpdate).toMatchObject({ properties: { tags: { type: ['array', 'null'] } } });
  expect(JSON.stringify(components.schemas.TodoUpdate)).toMatch(/"title":\{(?:(?!null)[^}])*\}/);
  const ofRecords = Object.entries(paths).filter(([path]) => !path.endsWith('/rotate-secret'));
  expect(JSON.stringify(ofRecords)).not.toMatch(/Duplicate value|Write conflict|Still referenced/);
});

it('the document requires fields with a default in records, and not in what is sent', () => {
  const schemas = generated.components.schemas as Record<string, { required?: string[] }>;
  const requiring = (field: string, ...names: string[]) =>
    names.filter((name) => schemas[name]?.required?.includes(field));
  expect(requiring('completed', 'Todo', 'TodoPart', 'TodoCreate', 'TodoUpdate')).toEqual(['Todo']);
  expect(requiring('enabled', 'Subscription', 'SubscriptionUpdate')).toEqual(['Subscription']);
});

it('the document has the body of an update in both of its types, and the header of a missing token', () => {
  const { patch } = generated.paths['/posts/api/{id}'] ?? {};
  const body = { schema: { $ref: '#/components/schemas/PostUpdate' } };
  const content = { 'application/json': body, 'application/merge-patch+json': body };
  expect(patch?.requestBody.content).toEqual(content);
  expect(patch?.responses[401]?.headers).toHaveProperty('WWW-Authenticate');
});
