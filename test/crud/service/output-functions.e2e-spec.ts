import { Schema } from '@nestjs/mongoose';
import { CrudModule } from '../../../src/common/crud/index.js';
import { IsText } from '../../../src/common/fields/index.js';
import { eventually } from '../../support/eventually.js';
import { useResourceApp } from '../../support/resource-app.js';

class NoteInput {
  @IsText({ min: 1, max: 100 }) text!: string;
}

@Schema({ timestamps: true })
class Note extends NoteInput {}

describe('an output that is a function', () => {
  const app = useResourceApp(
    CrudModule.forFeature({
      entity: Note,
      input: NoteInput,
      name: 'notes',
      output: ({ _id, text }) => ({ _id, length: text.length, words: text.split(' ') }),
    }),
  );

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

  const app = useResourceApp(
    CrudModule.forFeature({ entity: Card, input: NoteInput, name: 'cards', output: late }),
    CrudModule.forFeature({
      entity: Leaf,
      input: NoteInput,
      name: 'leaves',
      output: { type: NoteInput, from: late as () => never },
    }),
  );

  it.each(['/cards', '/leaves'])('is a 500 that the log explains, not an empty record: %s', async (path) => {
    expect((await app.post(path, { text: 'Buy stamps' })).status).toBe(201);
    expect(await app.get(path)).toMatchObject({ status: 500, body: { code: 'INTERNAL_ERROR' } });
    const message = 'The function of `output` returned a promise. It must return the record itself.';
    expect(app.logLines).toContainEqual(
      expect.objectContaining({ level: 'error', error: expect.objectContaining({ message }) }),
    );
  });
});

describe('an output that fails on one of the records', () => {
  @Schema({ timestamps: true })
  class Slip extends NoteInput {}

  /** What the output returns for records of this text. */
  const RETURNED: Record<string, unknown> = { nothing: undefined, null: null, text: 'text', list: [] };
  const output = (record: { text: string }) => {
    if (record.text === 'throws') throw new Error('No view.');
    return (record.text in RETURNED ? RETURNED[record.text] : record) as object;
  };

  const app = useResourceApp(
    CrudModule.forFeature({ entity: Slip, input: NoteInput, name: 'slips', output }),
  );
  beforeEach(() => app.empty());

  const linesOf = (id: string) => app.logLines.filter(({ requestId }) => requestId === id);

  it.each([
    ['nothing', 'undefined'],
    ['null', 'null'],
    ['text', 'string'],
    ['list', 'a list'],
  ])('is a 500 that the log explains if it returns %s', async (text, what) => {
    const { _id } = (await app.post('/slips', { text })).body;
    const message = `The function of \`output\` returned ${what}. It must return the record itself.`;
    const headers = { Accept: 'application/x-ndjson', 'X-Request-Id': `returns-${text}` };
    for (const path of [`/slips/${_id}`, '/slips', '/slips?limit=1']) {
      expect(await app.get(path, { headers })).toMatchObject({
        status: 500,
        body: { code: 'INTERNAL_ERROR' },
      });
    }
    const errors = linesOf(headers['X-Request-Id']).filter(({ level }) => level === 'error');
    expect(errors).toMatchObject([{ error: { message } }, { error: { message } }, { error: { message } }]);
  });

  it('breaks off a list that has begun, and the log has the error', async () => {
    const times = { createdAt: new Date(1), updatedAt: new Date(1), __v: 0 };
    const slips = Array.from({ length: 3_000 }, () => ({
      text: 'x'.repeat(50),
      ...times,
      createdAt: new Date(2),
    }));
    await app.database.collection('slips').insertMany([...slips, { text: 'throws', ...times }]);
    const headers = { 'X-Request-Id': 'broken-off' };
    await expect(fetch(`${app.url}/slips`, { headers }).then((answer) => answer.text())).rejects.toThrow();
    await eventually(() => expect(linesOf('broken-off')).toHaveLength(1));
    expect(linesOf('broken-off')).toMatchObject([
      { level: 'error', path: '/slips', error: { message: 'No view.' }, msg: 'answer broke off' },
    ]);
  });
});
