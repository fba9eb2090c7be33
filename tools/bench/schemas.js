/** The rules of a todo, as JSON Schema. */

const title = {
  type: 'string',
  maxLength: 1_000,
  // 1 to 200 characters, not counting the white space around them.
  pattern: '^\\s*\\S(?:[\\s\\S]{0,198}\\S)?\\s*$',
};
const description = { type: 'string', maxLength: 10_000 };
const completed = { type: 'boolean' };
const dueAt = { type: 'string', format: 'date-time' };
const orNull = (schema) => ({ ...schema, type: [schema.type, 'null'], nullable: true });

const id = {
  type: 'object',
  properties: { id: { type: 'string', pattern: '^[0-9a-fA-F]{24}$' } },
  required: ['id'],
};
const none = { type: 'object', additionalProperties: false };

const todo = {
  type: 'object',
  properties: {
    _id: { type: 'string' },
    title: { type: 'string' },
    description: { type: 'string' },
    completed: { type: 'boolean' },
    dueAt: { type: 'string', format: 'date-time' },
    createdAt: { type: 'string', format: 'date-time' },
    updatedAt: { type: 'string', format: 'date-time' },
  },
};

export const get = { params: id, querystring: none, response: { 200: todo } };

export const list = {
  querystring: {
    type: 'object',
    properties: {
      offset: { type: 'integer', minimum: 0, default: 0 },
      limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
    },
    additionalProperties: false,
  },
  response: {
    200: {
      type: 'object',
      properties: { results: { type: 'array', items: todo }, count: { type: 'integer' } },
    },
  },
};

export const create = {
  querystring: none,
  body: {
    type: 'object',
    properties: { title, description, completed, dueAt },
    required: ['title'],
    additionalProperties: false,
  },
  response: { 201: { type: 'object', properties: { _id: { type: 'string' } } } },
};

export const update = {
  params: id,
  querystring: none,
  body: {
    type: 'object',
    properties: {
      title,
      description: orNull(description),
      completed: orNull(completed),
      dueAt: orNull(dueAt),
    },
    additionalProperties: false,
  },
  response: { 200: { type: 'object', properties: { updated: { type: 'boolean' } } } },
};
