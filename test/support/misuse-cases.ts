import type { CrudOptions } from '../../src/common/crud/index.js';
import { schemaOf } from '../../src/common/fields/index.js';
import { claim, currentTenant } from '../../src/common/tenancy/index.js';
import {
  NoteInput,
  Note,
  Plain,
  HalfValidated,
  Initialised,
  Keeping,
  Listing,
  type MisuseCases,
  Flagging,
  Counting,
  NoHooks,
  Misspelt,
  Arrows,
  Injecting,
} from './misused-classes.js';
import { ARCHIVE_CASES } from './archive-misuse-cases.js';
import { KIND_CASES } from './kind-misuse-cases.js';
import { QUERY_CASES } from './query-misuse-cases.js';

/** Options that are right. */
export const notes: CrudOptions<Note, NoteInput> = { entity: Note, input: NoteInput, name: 'notes' };
/** How a class that is undefined is mended. */
export const circle = 'Pass a class; if it is imported from a file that imports this one, break that circle.';
const names = {
  options:
    'entity, input, name, path, tag, security, schema, kinds, writeOnly, output, parent, disable, isolationFields, globallyUnique, visible, fields, archive, list, query, bulk, import, events, audit, references, hooks, routes',
  actions: 'get, count, create, update, del',
  hooks: 'beforeCreate, afterCreate, beforeUpdate, afterUpdate, beforeDel, afterDel',
};
const below = { path: 'a/:postId/notes', parent: { entity: Note, param: 'postId', field: 'tenant' } };
const parent = (change: object) => ({ ...below, parent: { ...below.parent, ...change } });

/** Options that differ from good ones in one thing, by the sentence that follows "CrudModule.forFeature(Note): ". */
export const CASES: Readonly<Record<string, MisuseCases>> = {
  names: {
    'CrudOptions has no "isolationField". Did you mean "isolationFields"?': { isolationField: {} },
    'CrudOptions has no "hook". Did you mean "hooks"?': { hook: {} },
    'CrudOptions has no "Visible". Did you mean "visible"?': { Visible: {} },
    [`CrudOptions has no "plural". It takes ${names.options}.`]: { plural: 'x' },
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
    'events must be an object. It takes data.': { events: 'yes' },
    'events has no "date". Did you mean "data"?': { events: { date: 'id' } },
    "events must be true, false or { data: 'id' }.": { events: { data: 'all' } },
    'events reach the tenant of the record, which no create sets. Add isolationFields.create, such as { tenant: currentTenant }.':
      [{ events: true }, { events: true, isolationFields: { all: { tenant: claim('tenant') } } }],
    'events tell of records that are archived, and references.tenant deletes them with another. Choose another onDelete.':
      {
        events: true,
        isolationFields: { all: { tenant: currentTenant } },
        archive: { field: 'deletedAt' },
        references: { tenant: { to: Note, onDelete: 'cascade' } },
      },
    'the schema has "_outbox", where events are kept. Rename the field.': {
      events: true,
      isolationFields: { all: { tenant: currentTenant } },
      schema: schemaOf(Note).add({ _outbox: String }),
    },
  },
  audit: {
    'audit must be true, false or { keptDays }.': { audit: 'yes' },
    'audit has no "days". It takes keptDays.': { audit: { days: 3 } },
    'audit.keptDays must be a whole number from 1 to 36500.': [
      { audit: { keptDays: 0 } },
      { audit: { keptDays: 1.5 } },
    ],
  },
  input: {
    [`input is undefined. ${circle}`]: { input: undefined },
    'input must be a class.': { input: null },
    [`input.update is undefined. ${circle}`]: { input: { create: NoteInput } },
    'input has no "creat". Did you mean "create"?': { input: { creat: NoteInput, update: NoteInput } },
    'Plain has no validated field. Decorate its fields with class-validator or @IsText() and its like.': {
      input: Plain,
    },
    'the field "mood" of HalfValidated has no validation. Decorate it with @IsText() or its like, or with class-validator.':
      { input: HalfValidated },
    'the field "mood" of Initialised has no validation. Decorate it with @IsText() or its like, or with class-validator.':
      { input: { create: NoteInput, update: Initialised } },
    'Keeping has a field "updatedAt", which the service sets itself. Remove it.': { input: Keeping },
    'the input field "text" is a list, and Note.text in the schema is none.': { input: Listing },
    'the input field "text" is of the kind "flag", which a schema type String cannot hold.': {
      input: Flagging,
    },
    'the input field "deletedAt" is of the kind "integer", which a schema type Date cannot hold.': {
      input: Counting,
    },
    'writeOnly must be a list of input fields.': { writeOnly: 'text' },
    'writeOnly names "txt", which is not an input field.': { writeOnly: ['txt'] },
    'writeOnly names "text", which the schema stores. Remove it from one of them.': { writeOnly: ['text'] },
  },
  isolation: {
    [`isolationFields must be an object. It takes all, ${names.actions}.`]: [
      { isolationFields: currentTenant },
      { isolationFields: undefined },
      { isolationFields: null },
      { isolationFields: new Map() },
    ],
    'isolationFields has no "updat". Did you mean "update"?': {
      isolationFields: { updat: { tenant: currentTenant } },
    },
    'isolationFields has no "dell". Did you mean "del"?': {
      isolationFields: { dell: { tenant: currentTenant } },
    },
    [`isolationFields has no "list". It takes all, ${names.actions}.`]: {
      isolationFields: { list: { tenant: currentTenant } },
    },
    'isolationFields.get must name a field and its source, such as { tenant: currentTenant }.': [
      ...[currentTenant, undefined, null, 'tenant', {}, ['tenant']].map((get) => ({
        isolationFields: { get },
      })),
    ],
    "isolationFields.get.tenant must be a function, such as currentTenant or claim('sub').": [
      ...['tenant', undefined, Note.name].map((tenant) => ({ isolationFields: { get: { tenant } } })),
    ],
    'isolationFields.all names "tenat", which the schema does not have.': {
      isolationFields: { all: { tenat: currentTenant } },
    },
    'isolationFields.get names "_id", which every request names itself. Isolate by another field.': {
      isolationFields: { get: { _id: claim('sub') } },
    },
    'isolationFields.get names "inner.a", which is inside of another field. Isolate by a field of the record itself.':
      { isolationFields: { get: { 'inner.a': claim('sub') } } },
    'isolationFields.update names "text", which clients may send. Remove it from the input class.': {
      isolationFields: { update: { text: claim('sub') } },
    },
    [`disable must be a list of actions: ${names.actions}.`]: { disable: 'del' },
    [`disable has no "delete". It takes ${names.actions}.`]: { disable: ['delete'] },
    'disable has no "creat". Did you mean "create"?': { disable: ['creat'] },
  },
  archive: ARCHIVE_CASES,
  reading: {
    'visible names "deletdAt", which the schema does not have.': { visible: { deletdAt: null } },
    'visible must be an object of fields and values, such as { deletedAt: null }.': { visible: null },
    'visible.deletedAt must be a text, a number, true, false or null.': [
      { visible: { deletedAt: undefined } },
      { visible: { deletedAt: { $ne: 1 } } },
    ],
    'visible.deletedAt is "soon", which a schema type Date cannot hold.': { visible: { deletedAt: 'soon' } },
    'list must be an object. It takes unpaged, maxLimit.': { list: null },
    'list has no "maxlimit". Did you mean "maxLimit"?': { list: { maxlimit: 5 } },
    'list.maxLimit must be a whole number from 1.': { list: { maxLimit: 0 } },
    'list.unpaged must be true or false.': { list: { unpaged: 'no' } },
    'output must be an object. It takes type, from, hides.': { output: null },
    'output has no "typ". Did you mean "type"?': { output: { typ: Note } },
    [`output.type is undefined. ${circle}`]: { output: { type: undefined, from: () => ({}) } },
    'output.from must be a function of the record and the caller.': { output: { type: Note } },
    'output.hides must be a list of fields; write [] if the function hides none.': {
      output: { from: () => ({}), hides: 'text' },
    },
    'output.hides names "txt", which the schema does not have.': {
      output: { from: () => ({}), hides: ['txt'] },
    },
    'Plain declares no field to show. Decorate its fields with @ApiProperty() or @IsText() and its like.': {
      output: Plain,
    },
  },
  relations: {
    'parent.field names "above", which is not a single value. A record has one parent.': {
      path: 'a/:id2/b',
      parent: { entity: Note, param: 'id2', field: 'above' },
      schema: schemaOf(Note).add({ above: [String] }),
    },
    'the schema has "_holds", where writes that refer to a record are noted. Rename the field.': {
      schema: schemaOf(Note).add({ _holds: String }),
    },
    'references must be an object, such as { category: { to: Category } }.': { references: Note },
    'references.ref must be an object. It takes to, check, onDelete.': { references: { ref: Note } },
    'references names "rev", which the schema does not have.': { references: { rev: { to: Note } } },
    [`references.ref.to is undefined. ${circle}`]: { references: { ref: { to: undefined } } },
    'references.ref has no "ondelete". Did you mean "onDelete"?': {
      references: { ref: { to: Note, ondelete: 'restrict' } },
    },
    'references.ref.check must be one of exists, sameScope, false.': {
      references: { ref: { to: Note, check: true } },
    },
    'references.ref.onDelete must be one of restrict, cascade, unset, ignore.': {
      references: { ref: { to: Note, onDelete: 'delete' } },
    },
    'references.inner is of the schema type Embedded, which holds no identifier.': {
      references: { inner: { to: Note } },
    },
    'references.deletedAt is of the schema type Date, which holds no identifier.': {
      references: { deletedAt: { to: Note } },
    },
    'parent must be an object. It takes entity, param, field.': { parent: Note },
    [`parent.entity is undefined. ${circle}`]: parent({ entity: undefined }),
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
    'hooks has no "afterUpdat". Did you mean "afterUpdate"?': { hooks: { afterUpdat() {} } },
    [`hooks has no "beforeSave". It takes ${names.hooks}.`]: { hooks: { beforeSave() {} } },
    'hooks.afterUpdate must be a function.': { hooks: { afterUpdate: 1 } },
    'hooks must be an object of functions, or a provider class.': [
      { hooks: null },
      { hooks: () => undefined },
    ],
    'hooks has no "afterCreat". Did you mean "afterCreate"?': { hooks: new Misspelt() },
    'Misspelt has no "afterCreat". Did you mean "afterCreate"?': { hooks: Misspelt },
    'NoHooks has no hook. Give it methods named like beforeCreate or afterCreate.': { hooks: NoHooks },
    'Arrows has no hook. Give it methods named like beforeCreate or afterCreate.': { hooks: Arrows },
    'Injecting has a constructor, but no decorator that tells Nest what to inject. Add @Injectable() to it.':
      { hooks: Injecting },
    'routes has no "delete". It takes create, list, count, get, update, del, restore, bulk, import.': {
      routes: { delete: {} },
    },
    'bulk must be true or false.': { bulk: 'yes' },
    'import must be true or false.': { import: 1 },
    'routes.bulk changes a route that is not there. Write bulk: true, or leave it out.': {
      routes: { bulk: { summary: 'Many' } },
    },
    'routes.del must be an object. It takes guards, decorators, summary, response, errors, unkept.': {
      routes: { del: null },
    },
    'routes.del has no "guard". Did you mean "guards"?': { routes: { del: { guard: [] } } },
    'routes.del.guards must be a list of guards.': [
      { routes: { del: { guards: Plain } } },
      { routes: { del: { guards: [undefined] } } },
    ],
    "routes.del.decorators must be a list of method decorators, such as [Roles('admin')].": {
      routes: { del: { decorators: [undefined] } },
    },
    [`routes.create.unkept must be a list of the answer's members, such as ["secret"].`]: {
      routes: { create: { unkept: 'secret' } },
    },
    'routes.del.summary must be a text.': { routes: { del: { summary: 5 } } },
    [`routes.del.response is undefined. ${circle}`]: { routes: { del: { response: undefined } } },
    'routes.list changes a route that disable leaves out. Remove one of them.': {
      disable: ['get'],
      routes: { list: {} },
    },
  },
};
