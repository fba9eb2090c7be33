/**
 * What the service is measured against: the todo API as an engineer would write it for speed.
 * Fastify, compiled JSON schemas in both directions, the native driver, nothing in between. It checks bodies
 * and queries as strictly as the service, its count is exact, and its errors are problems (RFC 9457).
 */
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import Fastify from 'fastify';
import mongoose from 'mongoose';
import * as schemas from './schemas.js';

// The driver of Mongoose, and nothing else of it.
const { MongoClient, ObjectId } = mongoose.mongo;
const NEWEST_FIRST = { createdAt: -1, _id: -1 };
/** The service stores the words of its search in the same records; this server does not read them. */
const PROJECTION = { _words: 0 };
/** A long time limit: on few cores, 64 concurrent counts of a large collection take seconds. */
const LIMITS = { maxTimeMS: 20_000 };

const client = new MongoClient(process.env.MONGODB_URI, { socketTimeoutMS: 30_000 });
const todos = client.db().collection('todos');
const app = Fastify();

// Fastify's own compiler coerces values and drops unknown ones.
const bodies = new Ajv({ allErrors: true });
const queries = new Ajv({ allErrors: true, coerceTypes: true, useDefaults: true });
addFormats.default(bodies);
app.setValidatorCompiler(({ schema, httpPart }) =>
  (httpPart === 'querystring' ? queries : bodies).compile(schema),
);
const parseJson = app.getDefaultJsonParser('error', 'error');
app.addContentTypeParser('application/merge-patch+json', { parseAs: 'string' }, parseJson);

app.setErrorHandler((error, request, reply) => {
  const status = error.statusCode ?? (error.validation ? 400 : 500);
  const detail = status < 500 ? error.message : 'Something went wrong';
  const faults = error.validation?.map(({ instancePath, message }) =>
    error.validationContext === 'body'
      ? { pointer: instancePath, detail: message }
      : { parameter: instancePath.slice(1), detail: message },
  );
  return problem(request, reply, status, error.validation ? 'VALIDATION_FAILED' : 'FAILED', detail, faults);
});
app.setNotFoundHandler((request, reply) => problem(request, reply, 404, 'NOT_FOUND', 'No such path'));

app.get('/todos/:id', { schema: schemas.get }, async (request, reply) => {
  const todo = await todos.findOne(
    { _id: new ObjectId(request.params.id) },
    { projection: PROJECTION, ...LIMITS },
  );
  if (!todo) return problem(request, reply, 404, 'RECORD_NOT_FOUND', 'Todo not found');
  const tag = etagOf(todo);
  reply.header('ETag', tag);
  if (namesTag(request.headers['if-none-match'], tag)) return reply.code(304).send();
  return present(todo);
});

app.get('/todos', { schema: schemas.list }, async (request, reply) => {
  const { offset, limit } = request.query;
  const [results, count] = await Promise.all([
    todos
      .find({}, { projection: PROJECTION, ...LIMITS })
      .sort(NEWEST_FIRST)
      .skip(offset)
      .limit(limit)
      .toArray(),
    // Exact, and from the keys of an index: without the hint, the server reads every record.
    todos.countDocuments({}, { hint: NEWEST_FIRST, ...LIMITS }),
  ]);
  reply.header('Link', linksOf(offset, limit, count));
  return { results: results.map(present), count };
});

app.patch('/todos/:id', { schema: schemas.update }, async (request, reply) => {
  const { $set, $unset } = changesOf(request.body);
  const revision = /^"(\d{1,15})"$/.exec(request.headers['if-match'] ?? '')?.[1];
  const found = await todos.findOneAndUpdate(
    { _id: new ObjectId(request.params.id), ...(revision && { __v: Number(revision) }) },
    { $set: { ...$set, updatedAt: new Date() }, $unset, $inc: { __v: 1 } },
    { ...LIMITS, projection: { __v: 1 }, returnDocument: 'after' },
  );
  if (!found) return problem(request, reply, 404, 'RECORD_NOT_FOUND', 'Todo not found');
  reply.header('ETag', `"${found.__v}"`);
  return { updated: true };
});

app.post('/todos', { schema: schemas.create }, async (request, reply) => {
  const { title, description, completed = false, dueAt } = request.body;
  const now = new Date();
  const todo = { title, completed, createdAt: now, updatedAt: now, __v: 0 };
  if (description !== undefined) todo.description = description;
  if (dueAt !== undefined) todo.dueAt = new Date(dueAt);
  const { insertedId } = await todos.insertOne(todo, LIMITS);
  const _id = insertedId.toHexString();
  reply.code(201).header('Location', `/todos/${_id}`).header('ETag', etagOf(todo));
  return { _id };
});

await client.connect();
await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
process.on('SIGTERM', () => void app.close().then(() => process.exit(0)));

/** A merge patch (RFC 7396): null removes an optional field, and resets `completed` to its default. */
function changesOf({ title, description, completed, dueAt }) {
  const [$set, $unset] = [{}, {}];
  if (title !== undefined) $set.title = title;
  if (completed !== undefined) $set.completed = completed ?? false;
  if (description === null) $unset.description = 1;
  else if (description !== undefined) $set.description = description;
  if (dueAt === null) $unset.dueAt = 1;
  else if (dueAt !== undefined) $set.dueAt = new Date(dueAt);
  return { $set, $unset };
}

function present({ _id, title, description, completed, dueAt, createdAt, updatedAt }) {
  return { _id: _id.toHexString(), title, description, completed, dueAt, createdAt, updatedAt };
}

function etagOf({ __v = 0 }) {
  return `"${__v}"`;
}

function namesTag(header, tag) {
  return header !== undefined && (header === '*' || header.split(',').some((one) => one.trim() === tag));
}

function linksOf(offset, limit, count) {
  const to = (at, rel) => `</todos?offset=${at}&limit=${limit}>; rel="${rel}"`;
  const last = Math.max(0, Math.ceil(count / limit) - 1) * limit;
  const links = [to(0, 'first'), to(last, 'last')];
  if (offset > 0) links.push(to(Math.max(0, offset - limit), 'prev'));
  if (offset + limit < count) links.push(to(offset + limit, 'next'));
  return links.join(', ');
}

function problem(request, reply, status, code, detail, errors) {
  const { url: instance, id: requestId } = request;
  const body = {
    type: 'about:blank',
    title: code,
    status,
    detail,
    message: detail,
    code,
    instance,
    requestId,
    errors,
  };
  return reply.code(status).header('Content-Type', 'application/problem+json').send(body);
}
