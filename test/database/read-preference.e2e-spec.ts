/** @mongodb */
import { freshDatabaseUri } from '../support/mongodb.js';
import { createTestApp, type TestApp } from '../support/test-app.js';

describe('reads', () => {
  let app: TestApp;

  afterEach(() => app.close());

  it.each([
    'readPreference=secondary',
    'readpreference=nearest&readPreferenceTags=dc:east&maxStalenessSeconds=120',
  ])('go to the primary with %s in the URI, so that a write is seen at once', async (preference) => {
    const uri = freshDatabaseUri();
    app = await createTestApp({ env: { MONGODB_URI: `${uri}&${preference}` } });
    const client = app.connection.getClient();
    expect(client.readPreference.mode).toBe('primary');
    const created = await app.post('/todos', { title: 'Water the plants' });
    expect(created.status).toBe(201);
    expect((await app.get(`/todos/${created.body._id}`)).status).toBe(200);
    // Other options of the URI hold.
    expect(client.options.monitorCommands).toBe(true);
  });
});
