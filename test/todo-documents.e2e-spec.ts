import { createTestApp } from './support/test-app.js';

interface Document {
  paths: Record<string, object>;
  components: { schemas: Record<string, object> };
}

/** Both call the record by the name of their class, and only one has examples of the moments that it generates. */
const normalised = (text: string) =>
  JSON.parse(text.replaceAll('TodoRecord', 'Todo'), (key, value: unknown) => {
    if (key === 'required' && Array.isArray(value)) return value.sort();
    return key === 'example' && typeof value === 'string' ? undefined : value;
  }) as Document;

async function documentOf(form: string): Promise<Document> {
  const app = await createTestApp({ env: { TODOS_API: form } });
  const { text } = await app.get('/docs/openapi.json');
  await app.close();
  return normalised(text);
}

it('the document says the same of both forms of the todo API, but for count', async () => {
  const [generated, handwritten] = [await documentOf('generated'), await documentOf('handwritten')];
  const { '/todos/count': count, ...paths } = generated.paths;
  expect(count).toBeDefined();
  expect(handwritten.paths).toEqual(paths);
  expect(handwritten.components.schemas).toEqual(generated.components.schemas);
});

it('the document says which fields of an update null removes, and no error that cannot come', async () => {
  const { paths, components } = await documentOf('generated');
  expect(components.schemas.TodoUpdate).toMatchObject({
    properties: { description: { nullable: true }, completed: { nullable: true }, dueAt: { nullable: true } },
  });
  expect(JSON.stringify(components.schemas.TodoUpdate)).toMatch(/"title":\{(?:(?!nullable)[^}])*\}/);
  expect(JSON.stringify(paths)).not.toMatch(/Duplicate value|Write conflict|Still referenced/);
});
