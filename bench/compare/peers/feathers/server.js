/** The todo API as Feathers' own generator lays it out: Koa, the MongoDB adapter, and compiled schemas for data and queries. */
import { once } from 'node:events';
import { feathers } from '@feathersjs/feathers';
import { bodyParser, errorHandler, koa, parseAuthentication, rest } from '@feathersjs/koa';
import { MongoDBService } from '@feathersjs/mongodb';
import { Ajv, getValidator, hooks, querySyntax } from '@feathersjs/schema';
import addFormats from 'ajv-formats';
import { MongoClient } from 'mongodb';

const properties = {
  title: { type: 'string', maxLength: 1_000, pattern: '^\\s*\\S(?:[\\s\\S]{0,198}\\S)?\\s*$' },
  description: { type: 'string', maxLength: 10_000 },
  completed: { type: 'boolean' },
  dueAt: { type: 'string', format: 'date-time' },
};
const bodies = addFormats(new Ajv({ allErrors: true }));
const queries = addFormats(new Ajv({ allErrors: true, coerceTypes: true }));
const createSchema = {
  $id: 'CreateTodo',
  type: 'object',
  properties,
  required: ['title'],
  additionalProperties: false,
};
const patchSchema = { $id: 'PatchTodo', type: 'object', properties, additionalProperties: false };
const querySchema = {
  $id: 'TodoQuery',
  type: 'object',
  additionalProperties: false,
  properties: querySyntax({ _id: { type: 'string' }, createdAt: { type: 'string' } }),
};

const client = await MongoClient.connect(process.env.MONGODB_URI);
const app = koa(feathers());
app.use(errorHandler());
app.use(parseAuthentication());
app.use(bodyParser());
app.configure(rest());

app.use(
  'todos',
  new MongoDBService({
    Model: client.db().collection('todos'),
    paginate: { default: 20, max: 100 },
  }),
  { methods: ['find', 'get', 'create', 'patch'] },
);

const dueAtAsDate = ({ dueAt, ...data }) => ({ ...data, ...(dueAt && { dueAt: new Date(dueAt) }) });

app.service('todos').hooks({
  before: {
    // The service stores the words of its search, and the revision, in the same records.
    all: [({ params }) => void (params.mongodb = { projection: { _words: 0, __v: 0 } })],
    find: [hooks.validateQuery(getValidator(querySchema, queries))],
    create: [
      hooks.validateData(getValidator(createSchema, bodies)),
      (context) => {
        const now = new Date();
        context.data = { completed: false, ...dueAtAsDate(context.data), createdAt: now, updatedAt: now };
      },
    ],
    patch: [
      hooks.validateData(getValidator(patchSchema, bodies)),
      (context) => {
        context.data = { ...dueAtAsDate(context.data), updatedAt: new Date() };
      },
    ],
  },
});

const server = await app.listen(Number(process.env.PORT), process.env.HOST);
if (!server.listening) await once(server, 'listening');
console.log(`Listening on http://${process.env.HOST}:${server.address().port}`);
process.on('SIGTERM', () => process.exit(0));
