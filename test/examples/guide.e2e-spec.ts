import { readdirSync, readFileSync } from 'node:fs';
import { describeCrudContract } from '../../src/common/crud/testing/index.js';
import { NotesModule } from '../fixtures/guide/notes/notes.module.js';
import { useResourceApp } from '../support/resource-app.js';

const FOLDER = 'test/fixtures/guide/notes';

describe('the resource of docs/adding-a-resource.md', () => {
  const app = useResourceApp({ module: NotesModule });
  beforeEach(() => app.empty());

  describeCrudContract('notes', {
    app: () => app.app,
    path: '/notes',
    valid: { text: 'Buy stamps' },
    changes: { text: 'Post three letters' },
    computed: ['words'],
    invalid: { 'no text': {}, 'a text of spaces': { text: '   ' } },
  });

  const created = async (path: string, body: object) => (await app.post(path, body)).body._id as string;

  it('refers to notebooks, which stay as long as they have notes', async () => {
    const notebook = await created('/notebooks', { name: 'Errands' });
    const note = await created('/notes', { text: 'Buy stamps', notebook });
    expect((await app.get(`/notes/${note}?expand=notebook`)).body.notebook).toMatchObject({
      name: 'Errands',
    });
    expect((await app.get(`/notes/count?notebook=${notebook}`)).body).toEqual({ count: 1 });
    expect(await app.del(`/notebooks/${notebook}`)).toMatchObject({
      status: 409,
      body: { code: 'STILL_REFERENCED' },
    });
    expect(await app.post('/notes', { text: 'Lost', notebook: note })).toMatchObject({
      status: 400,
      body: { errors: [{ pointer: '/notebook', detail: '"notebook" names no notebook that you can use.' }] },
    });
  });

  it('trims new texts, and counts their words', async () => {
    const path = `/notes/${await created('/notes', { text: '  Buy stamps ' })}`;
    expect((await app.get(path)).body).toMatchObject({ text: 'Buy stamps', words: 2, pinned: false });
    await app.patch(path, { text: 'Buy three stamps' });
    expect((await app.get(path)).body).toMatchObject({ words: 3 });
  });

  it('does not rewrite a pinned note', async () => {
    const path = `/notes/${await created('/notes', { text: 'Buy stamps' })}`;
    expect(await app.post(`${path}/pin`, undefined)).toMatchObject({ status: 200, body: { pinned: true } });
    expect(await app.patch(path, { text: 'Buy nothing' })).toMatchObject({
      status: 409,
      body: { code: 'CONFLICT', detail: 'A pinned note cannot be rewritten.' },
    });
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
