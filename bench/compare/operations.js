/** Title of the todos that a measurement creates, which are removed after it. */
export const CREATED = 'Created by the benchmark';

/** Number of different records that one measurement requests. */
const RECORDS = 2_000;

/** The measured operations: their requests as sent over the wire, and the expected status. */
export const OPERATIONS = {
  get: {
    title: 'Get by id',
    status: 200,
    requests: (api, host, ids) => sample(ids).map((id) => request('GET', api.get(id), host)),
  },
  list: {
    title: 'List 20 with count',
    status: 200,
    requests: (api, host) => [request('GET', api.list, host)],
  },
  patch: {
    title: 'Patch',
    status: 200,
    requests(api, host, ids) {
      const patched = sample(ids);
      // Twice, so that each request changes the record.
      return [true, false].flatMap((completed) =>
        patched.map((id) => request('PATCH', api.patch(id), host, { completed })),
      );
    },
  },
  create: {
    title: 'Create',
    status: 201,
    requests: (api, host) => [request('POST', api.create, host, todoOf(CREATED))],
  },
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
  return Array.from(
    { length: Math.min(RECORDS, ids.length) },
    () => ids[Math.floor(Math.random() * ids.length)],
  );
}

function request(method, path, host, body) {
  const head = `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nAccept: application/json\r\n`;
  if (body === undefined) return `${head}\r\n`;
  const text = JSON.stringify(body);
  return `${head}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
}
