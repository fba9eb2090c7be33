import { Schema } from '@nestjs/mongoose';
import { CrudModule } from '../src/common/crud/index.js';
import { IsText } from '../src/common/fields/index.js';
import { createResourceApp } from './support/resource-app.js';
import type { TestApp } from './support/test-app.js';

class NoteInput {
  @IsText({ min: 1, max: 100 })
  text!: string;
}

@Schema({ timestamps: true })
class Note extends NoteInput {}

describe('an output that is a function', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await createResourceApp(
      CrudModule.forFeature({
        entity: Note,
        input: NoteInput,
        name: 'notes',
        output: ({ _id, text }) => ({ _id, length: text.length, words: text.split(' ') }),
      }),
    );
  });
  afterAll(() => app.close());

  it('is documented as an object of any fields, and answered everywhere', async () => {
    const headers = { Prefer: 'return=representation' };
    const { body } = await app.post('/notes', { text: 'Buy stamps' }, { headers });
    expect(body).toEqual({ _id: body._id, length: 10, words: ['Buy', 'stamps'] });
    expect((await app.get('/notes')).body).toEqual([body]);
    expect((await app.get('/notes?limit=1')).body).toEqual({
      results: [body],
      count: 1,
      next: null,
      prev: null,
    });
    expect((await app.get(`/notes/${body._id}`)).body).toEqual(body);
    const changed = await app.patch(`/notes/${body._id}`, { text: 'Sell' }, { headers });
    expect(changed.body).toEqual({ _id: body._id, length: 4, words: ['Sell'] });
  });
});

describe('an output that is an asynchronous function', () => {
  @Schema({ timestamps: true })
  class Card extends NoteInput {}
  @Schema({ timestamps: true })
  class Leaf extends NoteInput {}
  const late = (): Promise<object> => Promise.reject(new Error('No record.'));

  let app: TestApp;
  beforeAll(async () => {
    app = await createResourceApp(
      CrudModule.forFeature({ entity: Card, input: NoteInput, name: 'cards', output: late }),
      CrudModule.forFeature({
        entity: Leaf,
        input: NoteInput,
        name: 'leaves',
        output: { type: NoteInput, from: late as () => never },
      }),
    );
  });
  afterAll(() => app.close());

  it.each(['/cards', '/leaves'])('is a 500 that the log explains, not an empty record: %s', async (path) => {
    expect((await app.post(path, { text: 'Buy stamps' })).status).toBe(201);
    expect(await app.get(path)).toMatchObject({ status: 500, body: { code: 'INTERNAL_ERROR' } });
    const message = 'The function of `output` returned a promise. It must return the record itself.';
    expect(app.logLines).toContainEqual(
      expect.objectContaining({ level: 'error', error: expect.objectContaining({ message }) }),
    );
  });
});
