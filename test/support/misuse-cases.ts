import { Schema } from 'mongoose';
import * as f from '../../src/common/fields/index.js';
import { anyOf, claim, currentTenant, routeParam } from '../../src/index.js';
import { INDEX_CASES, LIST_INDEX_CASES } from './index-misuse-cases.js';
import { KIND_CASES } from './kind-misuse-cases.js';
import * as wrong from './misused-classes.js';
import { cycle, each, type MisuseCases, Note, NoteInput, of, Plain } from './misused-classes.js';
import { QUERY_CASES } from './query-misuse-cases.js';
import { type Fields, withFields } from './resource.js';

const OPTIONS =
  'entity, input, name, path, tag, security, schema, kinds, writeOnly, output, parent, disable, isolationFields, globallyUnique, visible, fields, archive, list, query, bulk, import, events, audit, references, hooks, routes';
const ACTIONS = 'get, count, create, update, del';
const SCOPES = 'all, create, update, del, get, count';
const HOOKS = 'beforeCreate, afterCreate, beforeUpdate, afterUpdate, beforeDel, afterDel';
const ROUTES = 'create, list, count, get, update, del, restore, bulk, import';
const MEMBERS = 'guards, decorators, summary, response, errors, unstored';

const tenant = { tenant: currentTenant };
const isolationFields = { all: tenant };
const inputWith = (fields: Fields) => withFields(class {}, fields);
const withField = (fields: object) => ({ schema: f.schemaOf(Note).add(fields) });
const unvalidated = (field: string, of: string) =>
  `the field "${field}" of ${of} has no validation. Decorate it with @IsText() or its like, or with class-validator.`;
const notHeld = (field: string, kind: string, type: string) =>
  `the input field "${field}" is of the kind "${kind}", which Note.${field}, of the schema type ${type}, cannot hold.`;
const noIdentifier = (path: string) =>
  ` names "${path}", which is not a field of the schema that can hold an identifier.`;
const noScope = (field: string) =>
  ` names "${field}", which is no single value of the record itself, nor a list of them. Choose another field.`;
const below = { path: 'a/:postId/notes', parent: { entity: Note, param: 'postId', field: 'tenant' } };
const parent = (change: object) => ({ ...below, parent: { ...below.parent, ...change } });

const archive = (field: string, change: object = {}) => ({
  isolationFields: { all: tenant },
  archive: { field },
  ...change,
});
const due = (options: object) => ({ schema: f.schemaOf(Note).add({ due: { type: Date, ...options } }) });
const ended = (isolationFields: object) => archive('deletedAt', { isolationFields });

const twice = (parameter: string) =>
  `the path has the parameter "${parameter}" twice, or it is that of the record. Give each a name of its own.`;
const noDate = (field: string) =>
  `archive.field names "${field}", which is not an optional date of the schema that can change and has no default.`;
const absent = (route: string) =>
  `routes.${route} changes a route that is not there. Remove it, or see disable, archive, bulk and import.`;

const ARCHIVE_CASES: MisuseCases = {
  'archive must be an object. It takes field.': [{ archive: null }, { archive: 'deletedAt' }],
  'archive has no "fild". It takes field.': { archive: { fild: 'deletedAt' } },
  [`archive.field is undefined. ${cycle}`]: { archive: {} },
  [noDate('deletdAt')]: archive('deletdAt'),
  [noDate('createdAt')]: archive('createdAt'),
  [noDate('text')]: archive('text'),
  [noDate('due')]: [
    archive('due', due({ required: true })),
    archive('due', due({ default: Date.now })),
    archive('due', due({ immutable: true })),
  ],
  'archive.field names "deletedAt", which the input class, visible or isolationFields name as well. Choose another field.':
    [
      archive('deletedAt', {
        input: withFields(class extends NoteInput {}, { deletedAt: f.IsTimestamp({ optional: true }) }),
      }),
      archive('deletedAt', { visible: { deletedAt: null } }),
      ended({ create: { deletedAt: currentTenant } }),
    ],
  'archive needs to know whose archived records are. Add isolationFields.update and isolationFields.del, such as { tenant: currentTenant }.':
    [ended({ create: tenant }), ended({ update: { tenant: routeParam('tenant') } })],
  'archive cannot tell whose archived records are, since "tenant" has several sources in get, count, update and del. Give it one.':
    ended({ update: tenant, del: { tenant: claim('sub') } }),
  [absent('restore')]: [
    { routes: { restore: {} } },
    archive('deletedAt', { disable: ['update'], routes: { restore: {} } }),
  ],
};

/** Options that differ from good ones in one thing, by the sentence that follows "CrudModule.forFeature(Note): ". */
export const CASES: Readonly<Record<string, MisuseCases>> = {
  names: {
    [`CrudOptions has no "isolationField". It takes ${OPTIONS}.`]: { isolationField: {} },
    [`CrudOptions has no "Visible". It takes ${OPTIONS}.`]: { Visible: {} },
    'name must be a word of letters, digits, - and _, such as "posts".': [{ name: 'my notes' }, { name: 5 }],
    [`name is undefined. ${cycle}`]: { name: undefined },
    'path must be a path, such as "posts/api".': [{ path: '/notes' }, { path: '' }],
    [twice(':id')]: { path: 'x/:id/n' },
    [twice(':a')]: { path: 'x/:a/:a' },
    'tag must be a text.': { tag: '' },
    'security must be a text.': { security: 1 },
    'schema must be a Mongoose schema, such as SchemaFactory.createForClass(Note) makes.': { schema: {} },
  },
  query: QUERY_CASES,
  kinds: KIND_CASES,
  events: {
    ...of('events', {
      ' must be an object. It takes data.': 'yes',
      ' has no "date". It takes data.': { date: 'id' },
      '.data must be one of id.': { data: 'all' },
    }),
    'events reach the tenant of the record, which no create sets. Add isolationFields.create, such as { tenant: currentTenant }.':
      [{ events: true }, { events: true, isolationFields: { all: { tenant: claim('tenant') } } }],
    'events tell of records that are archived, and references.tenant deletes them with another. Choose another onDelete.':
      {
        ...{ events: true, isolationFields, archive: { field: 'deletedAt' } },
        references: { tenant: { to: Note, onDelete: 'cascade' } },
      },
  },
  audit: of('audit', {
    ' must be an object. It takes keptDays.': 'yes',
    ' has no "days". It takes keptDays.': { days: 3 },
    '.keptDays must be a whole number from 1 to 36500.': each({ keptDays: 0 }, { keptDays: 1.5 }),
  }),
  input: {
    ...of('input', {
      [` is undefined. ${cycle}`]: undefined,
      ' must be a class.': null,
      [`.update is undefined. ${cycle}`]: { create: NoteInput },
      ' has no "creat". It takes create, update.': { creat: NoteInput, update: NoteInput },
    }),
    'Plain has no validated field. Decorate its fields with class-validator or @IsText() and its like.': {
      input: Plain,
    },
    [unvalidated('mood', 'HalfValidated')]: { input: wrong.HalfValidated },
    [unvalidated('mood', 'Inheriting')]: { input: wrong.Inheriting },
    [unvalidated('mood', 'Picking')]: { input: wrong.Picking },
    [unvalidated('mood', 'Documented')]: { input: wrong.Documented },
    [unvalidated('mood', 'Initialised')]: { input: { create: NoteInput, update: wrong.Initialised } },
    'Keeping has a field "updatedAt", which the service sets itself. Remove it.': { input: wrong.Keeping },
    'the input field "text" is a list, which Note.text, of the schema type String, cannot hold.': {
      input: inputWith({ text: f.IsListOf(f.IsText({ max: 5 }), { max: 5 }) }),
    },
    [notHeld('text', 'boolean', 'String')]: { input: inputWith({ text: f.IsFlag() }) },
    [notHeld('deletedAt', 'integer', 'Date')]: { input: inputWith({ deletedAt: f.IsWholeNumber() }) },
    ...of('writeOnly', {
      ' must be a list of input fields.': 'text',
      ' names "txt", which is not an input field.': ['txt'],
      ' names "text", which the schema stores. Remove it from one of them.': ['text'],
    }),
  },
  isolation: {
    ...of('isolationFields', {
      [` must be an object. It takes ${SCOPES}.`]: each(currentTenant, undefined, null, new Map()),
      [` has no "updat". It takes ${SCOPES}.`]: { updat: tenant },
      [`.all${noScope('tenat')}`]: { all: { tenat: currentTenant } },
      '.update names "text", which clients may send. Remove it from the input class.': {
        update: { text: claim('sub') },
      },
    }),
    ...of('isolationFields.get', {
      [` is undefined. ${cycle}`]: undefined,
      ' must be an object of fields and sources, such as { tenant: currentTenant }.': each(
        ...[currentTenant, null, 'tenant', {}, ['tenant']],
        ...['tenant', undefined, Note.name].map((tenant) => ({ tenant })),
      ),
      [noScope('_id')]: { _id: claim('sub') },
      [noScope('inner.a')]: { 'inner.a': claim('sub') },
    }),
    [`isolationFields.all${noScope('owner')}`]: [
      ...[new Schema({ sub: String }), Schema.Types.Mixed, [new Schema({ sub: String })], [[String]]],
      ...[{ type: Map, of: String }, { sub: String }],
    ].map((owner) => ({ ...withField({ owner }), isolationFields: { all: { owner: claim('sub') } } })),
    'isolationFields.update must be an object of fields and sources, such as { tenant: currentTenant }; anyOf is for get and count.':
      { isolationFields: { update: anyOf(tenant, { ref: claim('sub') }) } },
    ...of('disable', {
      [` must be a list of actions: ${ACTIONS}.`]: each('del', ['delete']),
    }),
  },
  archive: ARCHIVE_CASES,
  reading: {
    ...of('visible', {
      ' names "deletdAt", which the schema does not have.': { deletdAt: null },
      ' must be an object of fields and values, such as { deletedAt: null }.': null,
      [`.deletedAt is undefined. ${cycle}`]: { deletedAt: undefined },
      '.deletedAt must be a text, a number, true, false or null.': { deletedAt: { $ne: 1 } },
      '.deletedAt is "soon", which the field cannot hold.': { deletedAt: 'soon' },
    }),
    ...of('list', {
      ' must be an object. It takes unpaged, maxLimit.': null,
      ' has no "maxlimit". It takes unpaged, maxLimit.': { maxlimit: 5 },
      '.maxLimit must be a whole number from 1.': { maxLimit: 0 },
      '.unpaged must be true or false.': { unpaged: 'no' },
    }),
    ...of('output', {
      ' must be an object. It takes type, from, hides.': null,
      ' has no "typ". It takes type, from, hides.': { typ: Note },
      [`.type is undefined. ${cycle}`]: { type: undefined, from: () => ({}) },
      [`.from is undefined. ${cycle}`]: { type: Note },
      '.from must be a function of the record and the caller.': { from: Note.name },
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
    'parent.field names "above", which is not a single value of the schema. Choose another.': {
      path: 'a/:id2/b',
      parent: { entity: Note, param: 'id2', field: 'above' },
      ...withField({ above: [String] }),
    },
    'references.lines.ref.onDelete cannot be "unset", since the field is required, or in a list of objects. Write "restrict", "cascade" or "ignore".':
      {
        ...withField({ lines: [new Schema({ ref: Schema.Types.ObjectId })] }),
        references: { 'lines.ref': { to: Note, onDelete: 'unset' } },
      },
    ...Object.fromEntries(
      ['_holds', '_outbox', '_words'].map((name) => [
        `the schema has "${name}", which the generator stores with a record. Rename the field.`,
        withField({ [name]: String }),
      ]),
    ),
    ...of('references', {
      ' must be an object, such as { category: { to: Category } }.': Note,
      '.ref must be an object. It takes to, check, onDelete.': { ref: Note },
      [noIdentifier('rev')]: { rev: { to: Note } },
      [noIdentifier('inner')]: { inner: { to: Note } },
      [noIdentifier('deletedAt')]: { deletedAt: { to: Note } },
    }),
    ...of('references.ref', {
      [`.to is undefined. ${cycle}`]: { to: undefined },
      ' has no "ondelete". It takes to, check, onDelete.': { to: Note, ondelete: 'restrict' },
      '.check must be one of exists, sameScope, false.': { to: Note, check: true },
      '.onDelete must be one of restrict, cascade, unset, ignore.': { to: Note, onDelete: 'delete' },
    }),
    'parent must be an object. It takes entity, param, field.': { parent: Note },
    [`parent.entity is undefined. ${cycle}`]: parent({ entity: undefined }),
    'parent has no "fild". It takes entity, param, field.': parent({ fild: 'x' }),
    [`parent.field is undefined. ${cycle}`]: parent({ field: undefined }),
    'parent.param must be a text.': parent({ param: 5 }),
    'parent.field names "post", which is not a single value of the schema. Choose another.': parent({
      field: 'post',
    }),
    'parent.field names "ref", which clients may send. Remove it from the input class.': parent({
      field: 'ref',
    }),
    'the path "docs" is the service\'s own. Choose another path.': { name: 'docs' },
    'the path "health/x" is the service\'s own. Choose another path.': { path: 'health/x' },
    'the path needs the parent\'s parameter. Write it like "posts/api/:postId/notes".': {
      parent: below.parent,
    },
  },
  'hooks and routes': {
    ...of('hooks', {
      [` has no "beforeSave". It takes ${HOOKS}.`]: { beforeSave() {} },
      '.afterUpdate must be a function.': { afterUpdate: 1 },
      ' must be an object of functions, or a provider class.': each(null, [], () => undefined),
      [` has no "afterCreat". It takes ${HOOKS}.`]: each(new wrong.Misspelt(), wrong.Misspelt),
      [` has no method of these names: ${HOOKS}.`]: each(wrong.NoHooks, wrong.Arrows),
    }),
    'Injecting has a constructor, but no decorator that tells Nest what to inject. Add @Injectable() to it.':
      { hooks: wrong.Injecting },
    'bulk must be true or false.': { bulk: 'yes' },
    'import must be true or false.': { import: 1 },
    ...of('routes', {
      [` has no "delete". It takes ${ROUTES}.`]: { delete: {} },
    }),
    [absent('bulk')]: { routes: { bulk: {} } },
    [absent('list')]: { routes: { list: {} }, disable: ['get'] },
    ...of('routes.create.unstored', {
      [` must be a list of the answer's members, such as ["secret"].`]: 'secret',
    }),
    ...of('routes.del', {
      [` must be an object. It takes ${MEMBERS}.`]: null,
      [` has no "guard". It takes ${MEMBERS}.`]: { guard: [] },
      '.guards must be a list of guards.': each({ guards: Plain }, { guards: [undefined] }),
      [`.decorators must be a list of method decorators, such as [Roles('admin')].`]: {
        decorators: [undefined],
      },
      '.summary must be a text.': { summary: 5 },
      [`.response is undefined. ${cycle}`]: { response: undefined },
    }),
  },
  indexes: INDEX_CASES,
  'indexes of lists': LIST_INDEX_CASES,
};
