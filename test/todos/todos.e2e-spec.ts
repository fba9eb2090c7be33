import { OPERATION_LIMITS } from '../../src/common/database/index.js';
import { describeCrudContract } from '../support/crud-contract.js';
import * as cases from '../support/crud-contract/field-cases.js';
import { NOBODY } from '../support/crud-contract/records.js';
import { expectNotFound, expectInvalidId } from '../support/problems.js';
import { useTestApp } from '../support/test-app.js';

const { EMOJI, kept, NOT_TEXT, ODD_TEXTS, refused } = cases;
const FULL = {
  title: 'Water the plants',
  description: 'Those on the balcony, too.',
  completed: true,
  dueAt: '2026-12-31T12:00:00.000Z',
};
const DESCRIPTION = '"description" must be a string of at most 10000 characters.';
const COMPLETED = '"completed" must be true or false.';
const DUE_AT =
  '"dueAt" must be an RFC 3339 timestamp, to the millisecond at most, such as 2026-01-31T09:00:00.000Z.';

/** Timestamps as they may be sent, and the same moments as they are given back. */
const DUE_DATES = {
  '2026-12-31T12:00:00Z': '2026-12-31T12:00:00.000Z',
  '2026-12-31T12:00:00.5Z': '2026-12-31T12:00:00.500Z',
  '2026-12-31t12:00:00.123z': '2026-12-31T12:00:00.123Z',
  '2026-12-31T23:30:00+05:30': '2026-12-31T18:00:00.000Z',
  '2026-12-31T23:30:00-01:00': '2027-01-01T00:30:00.000Z',
  '2026-12-31T12:00:00-00:00': '2026-12-31T12:00:00.000Z',
  '2024-02-29T00:00:00Z': '2024-02-29T00:00:00.000Z',
  '1969-07-20T20:17:40Z': '1969-07-20T20:17:40.000Z',
  '0001-01-01T00:00:00Z': '0001-01-01T00:00:00.000Z',
  '9999-12-31T23:59:59.999Z': '9999-12-31T23:59:59.999Z',
};

const NOT_MOMENTS = [
  'tomorrow 2026-12-31 2026-12-31T12:00:00 2026-12-31T12:00Z 2026-12-31T12:00:00+0100 2026-12-31T12:00:00+24:00',
  '2026-12-31T12:00:00.Z 2026-12-31T12:00:00.1234Z 2026-12-31T24:00:00Z 2026-12-31T12:60:00Z 2026-12-31T12:00:60Z',
  '2026-13-01T00:00:00Z 2026-00-01T00:00:00Z 2026-02-29T00:00:00Z 2026-04-31T00:00:00Z 2026-04-00T00:00:00Z',
  '+002026-12-31T12:00:00Z 9999-12-31T23:59:59-01:00',
].flatMap((texts) => texts.split(' '));

const FILTERS = ['_id', 'title', 'completed', 'dueAt', 'createdAt', 'updatedAt'];
const LIST = ['offset', 'limit', 'after', 'before', 'count', 'sort', 'fields', 'q', ...FILTERS];

describe.each(['generated', 'handwritten'])('todos, %s', (form) => {
  const app = useTestApp({ env: { TODOS_API: form } });
  beforeEach(() => app.empty());

  describeCrudContract('todos', {
    app: () => app,
    path: '/todos',
    collection: 'todos',
    label: 'Todo',
    counts: form === 'generated',
    hasCursors: form === 'generated',
    parameters: {
      list: form === 'generated' ? LIST : ['offset', 'limit'],
      count: ['q', ...FILTERS],
      get: ['fields'],
    },
    full: FULL,
    optional: ['description', 'completed', 'dueAt'],
    defaults: { completed: false },
    valid: {
      title: cases.validTitles,
      description: kept(['', ' ', 'd'.repeat(10_000), EMOJI.repeat(10_000), ...ODD_TEXTS]),
      completed: kept([true, false]),
      dueAt: Object.entries(DUE_DATES),
    },
    invalid: {
      title: cases.invalidTitles,
      description: refused(DESCRIPTION, [...NOT_TEXT, 'd'.repeat(10_001), EMOJI.repeat(10_001)]),
      completed: refused(COMPLETED, ['true', 'false', '', 1, 0, [], [true], {}, { $ne: true }]),
      dueAt: refused(DUE_AT, [
        ...NOT_MOMENTS,
        ...['', '2026-12-31 12:00:00Z', ' 2026-12-31T12:00:00Z', '2026-12-31T12:00:00Z\n'],
        ...['Thu, 31 Dec 2026 12:00:00 GMT', 1_798_718_400_000, 0, true],
        ...[[], ['2026-12-31T12:00:00Z'], {}, { $date: '2026-12-31T12:00:00Z' }],
      ]),
    },
  });

  it('DELETE removes the todo for good, and no other; it is a 404 if there is none', async () => {
    const stays = (await app.post('/todos', FULL)).body._id;
    const goes = (await app.post('/todos', FULL)).body._id;
    const { status, body } = await app.del(`/todos/${goes}`);
    expect({ status, body }).toEqual({ status: 200, body: { deleted: true } });
    expectNotFound(await app.get(`/todos/${goes}`), `/todos/${goes}`, 'Todo');
    expectNotFound(await app.patch(`/todos/${goes}`, {}), `/todos/${goes}`, 'Todo');
    for (const gone of [goes, NOBODY])
      expectNotFound(await app.del(`/todos/${gone}`), `/todos/${gone}`, 'Todo');
    expectInvalidId(await app.del('/todos/all'), '/todos/all');
    expect((await app.get('/todos')).body).toEqual([expect.objectContaining({ _id: stays })]);
    expect((await app.get('/todos?limit=1')).body.count).toBe(1);
    expect(await app.database.collection('todos').countDocuments()).toBe(1);
  });

  it('works without any credentials, and with any, and writes nothing into the limits that all operations share', async () => {
    const { _id } = (await app.post('/todos', FULL, { token: 'not a token' })).body;
    expect((await app.get(`/todos/${_id}`, { token: 'not a token' })).status).toBe(200);
    expect((await app.patch(`/todos/${_id}`, { title: 'Tea' })).status).toBe(200);
    expect((await app.del(`/todos/${_id}`)).status).toBe(200);
    expect(Object.keys(OPERATION_LIMITS)).toEqual(['maxTimeMS']);
  });

  it('shows a todo that was stored by other means as not completed, if it does not say', async () => {
    const at = new Date();
    await app.database.collection('todos').insertOne({ title: 'Tea', createdAt: at, updatedAt: at, __v: 0 });
    const { body } = await app.get('/todos');
    expect(body).toMatchObject([{ title: 'Tea', completed: false }]);
    if (form === 'generated')
      expect((await app.get('/todos?fields=title')).body).toEqual([{ _id: body[0]._id, title: 'Tea' }]);
    await app.patch(`/todos/${body[0]._id}`, { title: 'Coffee' });
    const changed = { title: 'Coffee', completed: false };
    expect((await app.get(`/todos/${body[0]._id}`)).body).toMatchObject(changed);
  });

  if (form === 'handwritten')
    it('has no count: "count" is taken for an id', async () => {
      expectInvalidId(await app.get('/todos/count'), '/todos/count');
    });
});
