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
