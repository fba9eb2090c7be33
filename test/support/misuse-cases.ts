import {
  claim,
  currentTenant,
  IsFlag,
  IsListOf,
  IsText,
  IsTimestamp,
  IsWholeNumber,
  routeParam,
  schemaOf,
} from '../../src/index.js';
import { INDEX_CASES, LIST_INDEX_CASES } from './index-misuse-cases.js';
import { KIND_CASES } from './kind-misuse-cases.js';
import * as wrong from './misused-classes.js';
import { cycle, each, type MisuseCases, Note, NoteInput, of, Plain } from './misused-classes.js';
import { QUERY_CASES } from './query-misuse-cases.js';
import { type Fields, withFields } from './resource.js';

const OPTIONS =
  'entity, input, name, path, tag, security, schema, kinds, writeOnly, output, parent, disable, isolationFields, globallyUnique, visible, fields, archive, list, query, bulk, import, events, audit, references, hooks, routes';
const ACTIONS = 'get, count, create, update, del';
const HOOKS = 'beforeCreate, afterCreate, beforeUpdate, afterUpdate, beforeDel, afterDel';
const ROUTES = 'create, list, count, get, update, del, restore, bulk, import';
const MEMBERS = 'guards, decorators, summary, response, errors, unstored';

const tenant = { tenant: currentTenant };
const isolationFields = { all: tenant };
const inputWith = (fields: Fields) => withFields(class {}, fields);
const withField = (fields: object) => ({ schema: schemaOf(Note).add(fields) });
const unvalidated = (field: string, of: string) =>
  `the field "${field}" of ${of} has no validation. Decorate it with @IsText() or its like, or with class-validator.`;
const notHeld = (field: string, kind: string, type: string) =>
  `the input field "${field}" is of the kind "${kind}", which a schema type ${type} cannot hold.`;
const noIdentifier = (type: string) => ` is of the schema type ${type}, which holds no identifier.`;
const below = { path: 'a/:postId/notes', parent: { entity: Note, param: 'postId', field: 'tenant' } };
const parent = (change: object) => ({ ...below, parent: { ...below.parent, ...change } });

const archive = (field: string, change: object = {}) => ({
  isolationFields: { all: tenant },
  archive: { field },
  ...change,
});
const due = (options: object) => ({ schema: schemaOf(Note).add({ due: { type: Date, ...options } }) });
const ended = (isolationFields: object) => archive('deletedAt', { isolationFields });

/** Archives that are wrong. */
const ARCHIVE_CASES: MisuseCases = {
  'archive must be an object. It takes field.': [{ archive: null }, { archive: 'deletedAt' }],
  'archive has no "fild". Did you mean "field"?': { archive: { fild: 'deletedAt' } },
  'archive.field names "undefined", which the schema does not have.': { archive: {} },
  'archive.field names "deletdAt", which the schema does not have.': archive('deletdAt'),
  'archive.field names "createdAt", which the service sets itself. Choose another field.':
    archive('createdAt'),
  'archive.field names "text", of the schema type String. Choose a date.': archive('text'),
  'archive.field names "due", which live records could not be without. Make it optional, changeable, without a default.':
    [archive('due', due({ required: true })), archive('due', due({ default: Date.now }))],
  'archive.field names "deletedAt", which clients may send. Remove it from the input class.': archive(
    'deletedAt',
    { input: withFields(class extends NoteInput {}, { deletedAt: IsTimestamp({ optional: true }) }) },
  ),
  'visible names "deletedAt", as archive does. Remove it there.': archive('deletedAt', {
    visible: { deletedAt: null },
  }),
  'archive needs to know whose archived records are. Add isolationFields.update and isolationFields.del, such as { tenant: currentTenant }.':
    [ended({ create: tenant }), ended({ update: { tenant: routeParam('tenant') } })],
  'archive.field names "deletedAt", which isolates records. Choose another field.': ended({
    create: { deletedAt: currentTenant },
  }),
  'archive cannot tell whose archived records are, since "tenant" has several sources in get, count, update and del. Give it one.':
    ended({ update: tenant, del: { tenant: claim('sub') } }),
  'routes.restore needs an archive. Add archive: { field }.': { routes: { restore: {} } },
  'routes.restore changes a route that disable leaves out. Remove one of them.': archive('deletedAt', {
    disable: ['update'],
    routes: { restore: {} },
  }),
};

/** Options that differ from good ones in one thing, by the sentence that follows "CrudModule.forFeature(Note): ". */
export const CASES: Readonly<Record<string, MisuseCases>> = {
  names: {
    'CrudOptions has no "isolationField". Did you mean "isolationFields"?': { isolationField: {} },
    'CrudOptions has no "Visible". Did you mean "visible"?': { Visible: {} },
    [`CrudOptions has no "plural". It takes ${OPTIONS}.`]: { plural: 'x' },
    'the name "my notes" is not a word. Use letters, digits, - and _.': { name: 'my notes' },
    'the name "undefined" is not a word. Use letters, digits, - and _.': { name: undefined },
    'the path "docs" is the service\'s own, which has /docs. Choose another path.': { name: 'docs' },
    'the path "health/x" is the service\'s own, which has /health. Choose another path.': {
      path: 'health/x',
    },
    'the path "/notes" is not a path. Write it like "posts/api".': { path: '/notes' },
    'the path "" is not a path. Write it like "posts/api".': { path: '' },
    'the path has the parameter ":id", which names the record itself. Choose another name.': {
      path: 'x/:id/n',
    },
    'the path has the parameter ":a" twice. Give each a name of its own.': { path: 'x/:a/:a' },
    'tag must be a text.': { tag: '' },
    'security must be a text.': { security: 1 },
    'schema must be a Mongoose schema, such as SchemaFactory.createForClass(Note) makes.': { schema: {} },
  },
  query: QUERY_CASES,
  kinds: KIND_CASES,
  events: {
    ...of('events', {
      ' must be an object. It takes data.': 'yes',
      ' has no "date". Did you mean "data"?': { date: 'id' },
      " must be true, false or { data: 'id' }.": { data: 'all' },
    }),
    'events reach the tenant of the record, which no create sets. Add isolationFields.create, such as { tenant: currentTenant }.':
      [{ events: true }, { events: true, isolationFields: { all: { tenant: claim('tenant') } } }],
    'events tell of records that are archived, and references.tenant deletes them with another. Choose another onDelete.':
      {
        ...{ events: true, isolationFields, archive: { field: 'deletedAt' } },
        references: { tenant: { to: Note, onDelete: 'cascade' } },
      },
    'the schema has "_outbox", where events are kept. Rename the field.': {
      events: true,
      isolationFields,
      ...withField({ _outbox: String }),
    },
  },
  audit: of('audit', {
    ' must be true, false or { keptDays }.': 'yes',
    ' has no "days". It takes keptDays.': { days: 3 },
    '.keptDays must be a whole number from 1 to 36500.': each({ keptDays: 0 }, { keptDays: 1.5 }),
  }),
  input: {
    ...of('input', {
      [` is undefined. ${cycle}`]: undefined,
      ' must be a class.': null,
      [`.update is undefined. ${cycle}`]: { create: NoteInput },
      ' has no "creat". Did you mean "create"?': { creat: NoteInput, update: NoteInput },
    }),
    'Plain has no validated field. Decorate its fields with class-validator or @IsText() and its like.': {
      input: Plain,
    },
    [unvalidated('mood', 'HalfValidated')]: { input: wrong.HalfValidated },
    [unvalidated('mood', 'Initialised')]: { input: { create: NoteInput, update: wrong.Initialised } },
    'Keeping has a field "updatedAt", which the service sets itself. Remove it.': { input: wrong.Keeping },
    'the input field "text" is a list, and Note.text in the schema is none.': {
      input: inputWith({ text: IsListOf(IsText({ max: 5 }), { max: 5 }) }),
    },
    [notHeld('text', 'boolean', 'String')]: { input: inputWith({ text: IsFlag() }) },
    [notHeld('deletedAt', 'integer', 'Date')]: { input: inputWith({ deletedAt: IsWholeNumber() }) },
    ...of('writeOnly', {
      ' must be a list of input fields.': 'text',
      ' names "txt", which is not an input field.': ['txt'],
      ' names "text", which the schema stores. Remove it from one of them.': ['text'],
    }),
  },
  isolation: {
    ...of('isolationFields', {
      [` must be an object. It takes all, ${ACTIONS}.`]: each(currentTenant, undefined, null, new Map()),
      ' has no "updat". Did you mean "update"?': { updat: tenant },
      [` has no "list". It takes all, ${ACTIONS}.`]: { list: tenant },
      '.all names "tenat", which the schema does not have.': { all: { tenat: currentTenant } },
      '.update names "text", which clients may send. Remove it from the input class.': {
        update: { text: claim('sub') },
      },
    }),
    ...of('isolationFields.get', {
      ' must name a field and its source, such as { tenant: currentTenant }.': each(
        ...[currentTenant, undefined, null, 'tenant', {}, ['tenant']],
      ),
      ".tenant must be a function, such as currentTenant or claim('sub').": each(
        ...['tenant', undefined, Note.name].map((tenant) => ({ tenant })),
      ),
      ' names "_id", which every request names itself. Isolate by another field.': { _id: claim('sub') },
      ' names "inner.a", which is inside of another field. Isolate by a field of the record itself.': {
        'inner.a': claim('sub'),
      },
    }),
    ...of('disable', {
      [` must be a list of actions: ${ACTIONS}.`]: 'del',
      [` has no "delete". It takes ${ACTIONS}.`]: ['delete'],
      ' has no "creat". Did you mean "create"?': ['creat'],
    }),
  },
  archive: ARCHIVE_CASES,
  reading: {
    ...of('visible', {
      ' names "deletdAt", which the schema does not have.': { deletdAt: null },
      ' must be an object of fields and values, such as { deletedAt: null }.': null,
      '.deletedAt must be a text, a number, true, false or null.': each(
        ...[undefined, { $ne: 1 }].map((deletedAt) => ({ deletedAt })),
      ),
      '.deletedAt is "soon", which a schema type Date cannot hold.': { deletedAt: 'soon' },
    }),
    ...of('list', {
      ' must be an object. It takes unpaged, maxLimit.': null,
      ' has no "maxlimit". Did you mean "maxLimit"?': { maxlimit: 5 },
      '.maxLimit must be a whole number from 1.': { maxLimit: 0 },
      '.unpaged must be true or false.': { unpaged: 'no' },
    }),
    ...of('output', {
      ' must be an object. It takes type, from, hides.': null,
      ' has no "typ". Did you mean "type"?': { typ: Note },
      [`.type is undefined. ${cycle}`]: { type: undefined, from: () => ({}) },
      '.from must be a function of the record and the caller.': { type: Note },
      '.hides must be a list of fields; write [] if the function hides none.': {
        from: () => ({}),
        hides: 'text',
      },
      '.hides names "txt", which the schema does not have.': { from: () => ({}), hides: ['txt'] },
    }),
    'Plain declares no field to show. Decorate its fields with @ApiProperty() or @IsText() and its like.': {
      output: Plain,
    },
  },
  relations: {
    'parent.field names "above", which is not a single value. A record has one parent.': {
      path: 'a/:id2/b',
      parent: { entity: Note, param: 'id2', field: 'above' },
      ...withField({ above: [String] }),
    },
    [`the schema has "_holds", where writes that refer to a record are noted. Rename the field.`]: withField({
      _holds: String,
    }),
    ...of('references', {
      ' must be an object, such as { category: { to: Category } }.': Note,
      '.ref must be an object. It takes to, check, onDelete.': { ref: Note },
      ' names "rev", which the schema does not have.': { rev: { to: Note } },
      [`.inner${noIdentifier('Embedded')}`]: { inner: { to: Note } },
      [`.deletedAt${noIdentifier('Date')}`]: { deletedAt: { to: Note } },
    }),
    ...of('references.ref', {
      [`.to is undefined. ${cycle}`]: { to: undefined },
      ' has no "ondelete". Did you mean "onDelete"?': { to: Note, ondelete: 'restrict' },
      '.check must be one of exists, sameScope, false.': { to: Note, check: true },
      '.onDelete must be one of restrict, cascade, unset, ignore.': { to: Note, onDelete: 'delete' },
    }),
    'parent must be an object. It takes entity, param, field.': { parent: Note },
    [`parent.entity is undefined. ${cycle}`]: parent({ entity: undefined }),
    'parent has no "fild". Did you mean "field"?': parent({ fild: 'x' }),
    'parent.field must be the name of the field that refers to the parent.': parent({ field: undefined }),
    'parent.param must be the name of a parameter of the path, such as "postId".': parent({
      param: undefined,
    }),
    'parent.field names "post", which the schema does not have.': parent({ field: 'post' }),
    'parent.field names "ref", which clients may send. Remove it from the input class.': parent({
      field: 'ref',
    }),
    'the path needs the parent\'s parameter. Write it like "posts/api/:postId/notes".': {
      parent: below.parent,
    },
  },
  'hooks and routes': {
    ...of('hooks', {
      ' has no "afterUpdat". Did you mean "afterUpdate"?': { afterUpdat() {} },
      [` has no "beforeSave". It takes ${HOOKS}.`]: { beforeSave() {} },
      '.afterUpdate must be a function.': { afterUpdate: 1 },
      ' must be an object of functions, or a provider class.': each(null, () => undefined),
      ' has no "afterCreat". Did you mean "afterCreate"?': new wrong.Misspelt(),
    }),
    'Misspelt has no "afterCreat". Did you mean "afterCreate"?': { hooks: wrong.Misspelt },
    'NoHooks has no hook. Give it methods named like beforeCreate or afterCreate.': { hooks: wrong.NoHooks },
    'Arrows has no hook. Give it methods named like beforeCreate or afterCreate.': { hooks: wrong.Arrows },
    'Injecting has a constructor, but no decorator that tells Nest what to inject. Add @Injectable() to it.':
      { hooks: wrong.Injecting },
    'bulk must be true or false.': { bulk: 'yes' },
    'import must be true or false.': { import: 1 },
    ...of('routes', {
      [` has no "delete". It takes ${ROUTES}.`]: { delete: {} },
      '.bulk changes a route that is not there. Write bulk: true, or leave it out.': { bulk: {} },
    }),
    ...of('routes.create.unstored', {
      [` must be a list of the answer's members, such as ["secret"].`]: 'secret',
    }),
    ...of('routes.del', {
      [` must be an object. It takes ${MEMBERS}.`]: null,
      ' has no "guard". Did you mean "guards"?': { guard: [] },
      '.guards must be a list of guards.': each({ guards: Plain }, { guards: [undefined] }),
      [`.decorators must be a list of method decorators, such as [Roles('admin')].`]: {
        decorators: [undefined],
      },
      '.summary must be a text.': { summary: 5 },
      [`.response is undefined. ${cycle}`]: { response: undefined },
    }),
    ...of(
      'routes',
      { '.list changes a route that disable leaves out. Remove one of them.': { list: {} } },
      { disable: ['get'] },
    ),
  },
  indexes: INDEX_CASES,
  'indexes of lists': LIST_INDEX_CASES,
};
