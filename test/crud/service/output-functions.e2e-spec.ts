import type { Type } from '@nestjs/common';
import { eventually } from '../../support/eventually.js';
import { useResourceApp } from '../../support/resource-app.js';
import { feature, type Made, resource } from '../../support/resource.js';

describe('an output that is a function', () => {
  const output = (record: Made) => {
    const text = record.text as string;
    return { _id: record._id, length: text.length, words: text.split(' ') };
  };
  const app = useResourceApp(feature({ name: 'notes', output }));

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
  const late = () => Promise.reject<Made>(new Error('No record.'));
  const app = useResourceApp(
    feature({ name: 'cards', output: late }),
    feature({ name: 'leaves', output: { type: resource({ name: 'views' }).input as Type, from: late } }),
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
  /** What the output returns for records of this text. */
  const RETURNED: Record<string, unknown> = { nothing: undefined, null: null, text: 'text', list: [] };
  const output = (record: Made) => {
    const text = record.text as string;
    if (text === 'throws') throw new Error('No view.');
    return (text in RETURNED ? RETURNED[text] : record) as object;
  };

  const app = useResourceApp(feature({ name: 'slips', output }));
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
