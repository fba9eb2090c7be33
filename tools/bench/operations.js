import { requestOf } from '../support/connection.js';

/** Title of the todos that a measurement creates, which are removed after it. */
export const CREATED = 'Created by the benchmark';
/** The first page: the newest 20, and the exact count. */
export const PAGE = '/todos?offset=0&limit=20';

/** Number of different records that one measurement requests. */
const RECORDS = 2_000;

/** The measured operations, each with its requests. */
export const OPERATIONS = {
  get: {
    title: 'Get by id',
    requests: (ids) => sample(ids).map((id) => requestOf('GET', `/todos/${id}`)),
  },
  list: { title: 'List 20 with count', requests: () => [requestOf('GET', PAGE)] },
  patch: {
    title: 'Patch',
    requests(ids) {
      const patched = sample(ids);
      // Twice, so that each request changes the record.
      return [true, false].flatMap((completed) =>
        patched.map((id) => requestOf('PATCH', `/todos/${id}`, { body: { completed } })),
      );
    },
  },
  create: { title: 'Create', requests: () => [requestOf('POST', '/todos', { body: todoOf(CREATED) })] },
};

/** A todo with all of its fields, as a client sends it. */
export function todoOf(title) {
  return {
    title,
    description: 'Those on the balcony, too.',
    completed: false,
    dueAt: '2030-01-01T12:00:00.000Z',
  };
}

function sample(ids) {
  const one = () => ids[Math.floor(Math.random() * ids.length)];
  return Array.from({ length: Math.min(RECORDS, ids.length) }, one);
}
