import { readFile } from 'node:fs/promises';
import { NotesModule } from '../fixtures/notes/notes.module.js';
import { useResourceApp } from '../support/resource-app.js';

const A_TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string;

describe('the resource that the README adds in ten lines', () => {
  const app = useResourceApp({ module: NotesModule });
  beforeEach(() => app.empty());

  it('creates, lists, pages, counts, shows, changes and deletes notes', async () => {
    const created = await app.post('/notes', { text: 'Buy stamps' });
    expect(created).toMatchObject({ status: 201, body: { _id: expect.stringMatching(/^[0-9a-f]{24}$/) } });
    const path = `/notes/${created.body._id}`;
    const note = { _id: created.body._id, text: 'Buy stamps', createdAt: A_TIME, updatedAt: A_TIME };

    expect((await app.get('/notes')).body).toEqual([note]);
    expect((await app.get('/notes?limit=1')).body).toEqual({
      results: [note],
      count: 1,
      next: null,
      prev: null,
    });
    expect((await app.get('/notes/count')).body).toEqual({ count: 1 });
    expect((await app.get(path)).body).toEqual(note);

    expect((await app.patch(path, { text: 'Buy more stamps' })).body).toEqual({ updated: true });
    expect((await app.get(path)).body).toEqual({ ...note, text: 'Buy more stamps' });

    expect((await app.del(path)).body).toEqual({ deleted: true });
    expect(await app.get(path)).toMatchObject({ status: 404, body: { detail: 'Note not found' } });
    expect((await app.get('/notes')).body).toEqual([]);
  });

  it('refuses an invalid note and names the field', async () => {
    const response = await app.post('/notes', { text: '', colour: 'red' });
    expect(response).toMatchObject({
      status: 400,
      body: {
        code: 'VALIDATION_FAILED',
        errors: [
          { pointer: '/colour', detail: '"colour" is not an input field. Allowed: text.' },
          { pointer: '/text', detail: '"text" must be a string of 1 to 500 characters.' },
        ],
      },
    });
    expect((await app.get('/notes')).body).toEqual([]);
  });

  it('appears in the OpenAPI document, under its tag and with its fields', async () => {
    const { body } = await app.get('/docs/openapi.json');
    const routes = Object.entries<Record<string, { tags: string[]; summary: string }>>(body.paths).flatMap(
      ([path, methods]) =>
        Object.entries(methods).map(
          ([method, { tags, summary }]) => `${method} ${path} ${tags[0]}: ${summary}`,
        ),
    );
    expect(routes.sort()).toEqual([
      'delete /notes/{id} Notes: Delete a note',
      'get /notes Notes: List notes, newest first',
      'get /notes/count Notes: Count notes',
      'get /notes/{id} Notes: Get one note',
      'patch /notes/{id} Notes: Update a note',
      'post /notes Notes: Create a note',
    ]);
    expect(body.components.schemas.NoteCreate).toEqual({
      type: 'object',
      properties: { text: { type: 'string', minLength: 1, maxLength: 500, example: 'Buy stamps' } },
      required: ['text'],
      additionalProperties: false,
    });
  });

  it('matches the README line for line', async () => {
    const readme = await readFile('README.md', 'utf8');
    const shown = /```ts src\/notes\/notes\.module\.ts\n(.*?)```/s.exec(readme)?.[1];
    const built = await readFile('test/fixtures/notes/notes.module.ts', 'utf8');
    // A feature in src/ imports its neighbours; the fixture lives outside.
    expect(shown).toBe(built.replaceAll("'../../../src/", "'../"));
  });
});
