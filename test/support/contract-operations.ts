import fc from 'fast-check';
import { ACME, GLOBEX } from './tenants.js';

export type Resource = 'posts' | 'todos';

/** Who calls: a tenant, or nobody (undefined). */
export type Caller = string | undefined;

/** A body, and the one fault that makes it invalid where it is so. */
export interface Body {
  json: unknown;
  fault?: { pointer: string; detail: string };
}

/** The record that an operation aims at: the n-th that was ever created of a resource, one that never was, or no id. */
export type Target = { resource: Resource; index: number } | 'missing' | 'malformed';

/** One request, as data, so that fast-check can print and shrink it. */
export type Operation =
  | { action: 'create'; resource: Resource; caller: Caller; body: Body; prefersRecord: boolean }
  | { action: 'list' | 'count'; resource: Resource; caller: Caller }
  | { action: 'page'; resource: Resource; caller: Caller; offset?: number; limit?: number }
  | { action: 'get' | 'del'; resource: Resource; caller: Caller; target: Target }
  | { action: 'update'; resource: Resource; caller: Caller; target: Target; body: Body };

const INITECH = '665f1c2ab7e3a90d4c8b0003';

/** The fields that a client may send, and what is said where one does not fit. */
const INPUT = {
  posts: {
    title: '"title" must be a string of 1 to 200 characters, not counting white space around it.',
    content: '"content" must be a string of at most 100000 characters.',
    tags: '"tags" must be an array of at most 20 entries, each a string of 1 to 50 characters.',
  },
  todos: {
    title: '"title" must be a string of 1 to 200 characters, not counting white space around it.',
    description: '"description" must be a string of at most 10000 characters.',
    completed: '"completed" must be true or false.',
    dueAt:
      '"dueAt" must be an RFC 3339 timestamp, to the millisecond at most, such as 2026-01-31T09:00:00.000Z.',
  },
} as const;

/** Fields of a record that only the service writes, and others that nobody may. */
const FORBIDDEN = ['_id', 'tenant', 'deletedAt', 'createdAt', 'updatedAt', '__v', '$set', 'title.$ne', 'x'];

const text = (maxLength: number) => fc.string({ unit: 'binary', maxLength });
const title = fc.oneof(
  text(20).filter((value) => value.trim() !== ''),
  fc.constantFrom(' outer space ', '$set', '{"$ne":1}', 'x'.repeat(200)),
);
const timestamp = fc
  .date({ min: new Date('0001-01-02'), max: new Date('9999-12-30'), noInvalidDate: true })
  .map((date) => date.toISOString());

const fields = {
  posts: {
    title,
    content: text(30),
    tags: fc.array(
      text(10).filter((value) => value !== ''),
      { maxLength: 4 },
    ),
  },
  todos: { title, description: text(30), completed: fc.boolean(), dueAt: timestamp },
};

/** Values that fit no field of their kind, whatever the field. */
const misfit = fc.constantFrom<unknown>({ $ne: 1 }, 7, [7], { $gt: '' });

const createFault = (resource: Resource): fc.Arbitrary<Body> => {
  const valid = { title: 'fits' };
  const fault = (json: unknown, field: string, detail: string) => ({
    json,
    fault: { pointer: field === '' ? '' : `/${field}`, detail },
  });
  const names = Object.keys(INPUT[resource]);
  const optional = names.filter((name) => name !== 'title');
  const shapes = Object.entries<string>(INPUT[resource]);
  return fc.oneof(
    fc.constantFrom({}, { title: '' }, { title: ' \t\n' }, { title: 'x'.repeat(201) }).map((json) => {
      return fault(json, 'title', INPUT[resource].title);
    }),
    fc.tuple(fc.constantFrom(...shapes), misfit).map(([[name, detail], value]) => {
      return fault({ ...valid, [name]: value }, name, detail);
    }),
    fc.tuple(fc.constantFrom(...FORBIDDEN), fc.constantFrom<unknown>(GLOBEX, null)).map(([name, value]) => {
      const detail = `"${name}" is not an input field. Allowed: ${names.join(', ')}.`;
      return fault({ ...valid, [name]: value }, name, detail);
    }),
    fc.constantFrom(...optional).map((name) => {
      const detail = `"${name}" must not be null. Leave the field out instead.`;
      return fault({ ...valid, [name]: null }, name, detail);
    }),
    fc.constantFrom<unknown>([], [valid], 'text', 7, null).map((json) => {
      return fault(json, '', 'The body must be a JSON object.');
    }),
  );
};

/** What is wrong in a create is wrong in an update, but for what may be left out or removed there. */
const updateFault = (resource: Resource): fc.Arbitrary<Body> =>
  fc.oneof(
    createFault(resource).filter(
      ({ json, fault }) => !(JSON.stringify(json) === '{}' || fault?.detail.includes('Leave the field out')),
    ),
    fc.constant({
      json: { title: null },
      fault: { pointer: '/title', detail: '"title" is required and cannot be removed with null.' },
    }),
  );

function bodiesOf(resource: Resource): { create: fc.Arbitrary<Body>; update: fc.Arbitrary<Body> } {
  const { title: required, ...optional } = fields[resource] as Record<string, fc.Arbitrary<unknown>>;
  const removable = Object.entries(optional).map(([name, value]) => [name, fc.option(value)] as const);
  const create = fc.record(
    { title: required as fc.Arbitrary<unknown>, ...optional },
    { requiredKeys: ['title'] },
  );
  const update = fc.record(
    { title: required as fc.Arbitrary<unknown>, ...Object.fromEntries(removable) },
    { requiredKeys: [] },
  );
  const valid = (arbitrary: fc.Arbitrary<unknown>) => arbitrary.map((json): Body => ({ json }));
  return {
    create: fc.oneof(
      { weight: 4, arbitrary: valid(create) },
      { weight: 1, arbitrary: createFault(resource) },
    ),
    update: fc.oneof(
      { weight: 4, arbitrary: valid(update) },
      { weight: 1, arbitrary: updateFault(resource) },
    ),
  };
}

function operationOf(resource: Resource): fc.Arbitrary<Operation> {
  const bodies = bodiesOf(resource);
  const common = {
    resource: fc.constant(resource),
    caller: fc.constantFrom<Caller>(ACME, ACME, GLOBEX, GLOBEX, INITECH, undefined),
  };
  // Mostly the resource's own records; sometimes the id of another resource's, which is none here.
  const known = fc.record({
    resource: fc.constantFrom<Resource>(resource, resource, resource, resource, 'posts', 'todos'),
    index: fc.nat({ max: 7 }),
  });
  const target = fc.oneof(
    { weight: 8, arbitrary: known as fc.Arbitrary<Target> },
    { weight: 1, arbitrary: fc.constantFrom<Target>('missing', 'malformed') },
  );
  return fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        action: fc.constant('create' as const),
        ...common,
        body: bodies.create,
        prefersRecord: fc.boolean(),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ action: fc.constantFrom('list' as const, 'count' as const), ...common }),
    },
    {
      weight: 2,
      arbitrary: fc.record(
        {
          action: fc.constant('page' as const),
          ...common,
          offset: fc.integer({ min: -1, max: 8 }),
          limit: fc.constantFrom(0, 1, 2, 3, 100, 101),
        },
        { requiredKeys: ['action', 'resource', 'caller'] },
      ),
    },
    {
      weight: 4,
      arbitrary: fc.record({ action: fc.constantFrom('get' as const, 'del' as const), ...common, target }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        action: fc.constant('update' as const),
        ...common,
        target,
        body: bodies.update,
      }),
    },
  );
}

/** Sequences of requests by several tenants and nobody, to posts and todos. */
export const operations = fc.array(fc.oneof(operationOf('posts'), operationOf('todos')), {
  minLength: 1,
  maxLength: 60,
  size: 'max',
});
