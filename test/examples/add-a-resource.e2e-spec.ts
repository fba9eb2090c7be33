import { readFile } from 'node:fs/promises';
import { describeCrudContract } from '../../src/common/crud/testing/index.js';
import { NotesModule } from '../fixtures/notes/notes.module.js';
import { useResourceApp } from '../support/resource-app.js';

describe('the resource that the README adds in ten lines', () => {
  const app = useResourceApp({ module: NotesModule });
  beforeEach(() => app.empty());

  describeCrudContract('notes', {
    app: () => app.app,
    path: '/notes',
    valid: { text: 'Buy stamps' },
    changes: { text: 'Buy more stamps' },
    invalid: { 'no text': { text: '' }, 'a field that it does not have': { text: 'Tea', colour: 'red' } },
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
      'post /notes/query Notes: List notes by a query in the body',
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
