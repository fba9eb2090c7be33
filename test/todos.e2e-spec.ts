import { createTestApp, type TestApp } from './support/test-app.js';

describe.each(['generated', 'handwritten'])('todos, %s', (form) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await createTestApp({ env: { TODOS_API: form } });
  });
  afterAll(() => app.close());
  beforeEach(() => app.empty());

  it('creates a todo and gives its id, path and revision', async () => {
    const response = await app.post('/todos', { title: 'Water the plants' });
    expect(response.status).toBe(201);
    expect(response.body).toEqual({ _id: expect.stringMatching(/^[0-9a-f]{24}$/) });
    expect(response.headers.get('location')).toBe(`/todos/${response.body._id}`);
    expect(response.headers.get('etag')).toBe('"0"');
  });
});
