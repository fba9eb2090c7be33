import { readdirSync, readFileSync } from 'node:fs';
import { describeCrudContract } from '../../src/common/crud/testing/index.js';
import { NotesModule as GuideModule } from '../fixtures/guide/notes/notes.module.js';
import { NotesModule } from '../fixtures/notes/notes.module.js';
import { fault } from '../support/faults.js';
import { expectInvalid } from '../support/problems.js';
import { useResourceApp } from '../support/resource-app.js';

const FOLDER = 'test/fixtures/guide/notes';

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

  it('appears in the OpenAPI document, under its tag', async () => {
    const { body } = await app.get('/docs/openapi.json');
    type Methods = Record<string, { tags: string[]; summary: string }>;
    const routes = Object.entries<Methods>(body.paths).flatMap(([path, methods]) =>
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
  });

  it('matches the README line for line', () => {
    const readme = readFileSync('README.md', 'utf8');
    const shown = /```ts src\/notes\/notes\.module\.ts\n(.*?)```/s.exec(readme)?.[1];
    const built = readFileSync('test/fixtures/notes/notes.module.ts', 'utf8');
    // A feature in src/ imports its neighbours; the fixture lives outside.
    expect(shown).toBe(built.replaceAll("'../../../src/", "'../"));
  });
});

describe('the resource of docs/adding-a-resource.md', () => {
  const app = useResourceApp({ module: GuideModule });
  beforeEach(() => app.empty());

  describeCrudContract('notes', {
    app: () => app.app,
    path: '/notes',
    valid: { text: 'Buy stamps' },
    changes: { text: 'Post three letters' },
    computed: ['words'],
    invalid: { 'no text': {}, 'a text of spaces': { text: '   ' } },
  });

  it('refers to notebooks, which stay as long as they have notes', async () => {
    const notebook = await app.create('/notebooks', { name: 'Errands' });
    const note = await app.create('/notes', { text: 'Buy stamps', notebook });
    const { body } = await app.get(`/notes/${note}?expand=notebook`);
    expect(body.notebook).toMatchObject({ name: 'Errands' });
    expect((await app.get(`/notes/count?notebook=${notebook}`)).body).toEqual({ count: 1 });
    const refused = await app.del(`/notebooks/${notebook}`);
    expect([refused.status, refused.body.code]).toEqual([409, 'STILL_REFERENCED']);
    const unknown = fault('/notebook', 'names no notebook that you can use.');
    expectInvalid(await app.post('/notes', { text: 'Lost', notebook: note }), '/notes', unknown);
  });

  it('trims new texts, and counts their words', async () => {
    const path = `/notes/${await app.create('/notes', { text: '  Buy stamps ' })}`;
    expect((await app.get(path)).body).toMatchObject({ text: 'Buy stamps', words: 2, pinned: false });
    await app.patch(path, { text: 'Buy three stamps' });
    expect((await app.get(path)).body).toMatchObject({ words: 3 });
  });

  it('does not rewrite a pinned note', async () => {
    const path = `/notes/${await app.create('/notes', { text: 'Buy stamps' })}`;
    expect(await app.post(`${path}/pin`, undefined)).toMatchObject({ status: 200, body: { pinned: true } });
    const body = { status: 409, code: 'CONFLICT', detail: 'A pinned note cannot be rewritten.' };
    expect((await app.patch(path, { text: 'Buy nothing' })).body).toMatchObject(body);
  });
});

it('docs/adding-a-resource.md shows every file of the resource as it is', () => {
  const page = readFileSync('docs/adding-a-resource.md', 'utf8');
  const shown = new Map(
    [...page.matchAll(/^```ts src\/notes\/(\S+)\n(.*?)^```/gms)].map(([, name = '', code]) => [name, code]),
  );
  // The last form of a file that the page develops in steps counts.
  for (const name of readdirSync(FOLDER)) {
    const code = readFileSync(`${FOLDER}/${name}`, 'utf8').replaceAll("'../../../../src/", "'../");
    expect([name, shown.get(name)]).toEqual([name, code]);
  }
});
