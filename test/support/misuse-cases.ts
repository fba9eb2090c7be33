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
  Flagging,
  Counting,
  NoHooks,
  Misspelt,
  Arrows,
  Injecting,
} from './misused-classes.js';
import { ARCHIVE_CASES } from './archive-misuse-cases.js';
import { QUERY_CASES } from './query-misuse-cases.js';

/** Options that are right. */
export const notes: CrudOptions<Note, NoteInput> = { entity: Note, input: NoteInput, name: 'notes' };
/** How a class that is undefined is mended. */
export const circle = 'Pass a class; if it is imported from a file that imports this one, break that circle.';
const names = {
  options:
    'entity, input, name, path, tag, security, schema, writeOnly, output, parent, disable, isolationFields, globallyUnique, visible, archive, list, query, bulk, import, outbox, audit, references, hooks, routes',
  actions: 'get, count, create, update, del',
  hooks: 'beforeCreate, afterCreate, beforeUpdate, afterUpdate, beforeDel, afterDel',
};
const below = { path: 'a/:postId/notes', parent: { entity: Note, param: 'postId', field: 'tenant' } };
const parent = (change: object) => ({ ...below, parent: { ...below.parent, ...change } });

/** Options that differ from good ones in one thing, and the sentence that follows "CrudModule.forFeature(Note): ". */
export const CASES: Readonly<Record<string, readonly (readonly [object, string])[]>> = {
  names: [
    [{ isolationField: {} }, 'CrudOptions has no "isolationField". Did you mean "isolationFields"?'],
    [{ hook: {} }, 'CrudOptions has no "hook". Did you mean "hooks"?'],
    [{ Visible: {} }, 'CrudOptions has no "Visible". Did you mean "visible"?'],
    [{ plural: 'x' }, `CrudOptions has no "plural". It takes ${names.options}.`],
    [{ name: 'my notes' }, 'the name "my notes" is not a word. Use letters, digits, - and _.'],
    [{ name: undefined }, 'the name "undefined" is not a word. Use letters, digits, - and _.'],
    [{ name: 'docs' }, 'the path "docs" is the service\'s own, which has /docs. Choose another path.'],
    [
      { path: 'health/x' },
      'the path "health/x" is the service\'s own, which has /health. Choose another path.',
    ],
    [{ path: '/notes' }, 'the path "/notes" is not a path. Write it like "posts/api".'],
    [{ path: '' }, 'the path "" is not a path. Write it like "posts/api".'],
    [
      { path: 'x/:id/n' },
      'the path has the parameter ":id", which names the record itself. Choose another name.',
    ],
    [{ path: 'x/:a/:a' }, 'the path has the parameter ":a" twice. Give each a name of its own.'],
    [{ tag: '' }, 'tag must be a text.'],
    [{ security: 1 }, 'security must be a text.'],
    [{ schema: {} }, 'schema must be a Mongoose schema, such as SchemaFactory.createForClass(Note) makes.'],
  ],
  query: QUERY_CASES,
  outbox: [
    [{ outbox: 'yes' }, 'outbox must be true or false.'],
    [
      { outbox: true },
      "outbox keeps events in the record, which DELETE removes. Add archive: { field }, or disable: ['del'].",
    ],
    [
      { outbox: true, disable: ['del'], references: { tenant: { to: Note, onDelete: 'cascade' } } },
      'outbox keeps events in the record, which references.tenant deletes with another. Choose another onDelete.',
    ],
    [
      { outbox: true, disable: ['del'], schema: schemaOf(Note).add({ _outbox: String }) },
      'the schema has "_outbox", where events are kept. Rename the field.',
    ],
  ],
  audit: [
    [{ audit: 'yes' }, 'audit must be true, false or { keptDays }.'],
    [{ audit: { days: 3 } }, 'audit has no "days". It takes keptDays.'],
    [{ audit: { keptDays: 0 } }, 'audit.keptDays must be a whole number from 1 to 36500.'],
    [{ audit: { keptDays: 1.5 } }, 'audit.keptDays must be a whole number from 1 to 36500.'],
  ],
  input: [
    [{ input: undefined }, `input is undefined. ${circle}`],
    [{ input: null }, 'input must be a class.'],
    [{ input: { create: NoteInput } }, `input.update is undefined. ${circle}`],
    [{ input: { creat: NoteInput, update: NoteInput } }, 'input has no "creat". Did you mean "create"?'],
    [
      { input: Plain },
      'Plain has no validated field. Decorate its fields with class-validator or @IsText() and its like.',
    ],
    [
      { input: HalfValidated },
      'the field "mood" of HalfValidated has no validation. Decorate it with @IsText() or its like, or with class-validator.',
    ],
    [
      { input: { create: NoteInput, update: Initialised } },
      'the field "mood" of Initialised has no validation. Decorate it with @IsText() or its like, or with class-validator.',
    ],
    [{ input: Keeping }, 'Keeping has a field "updatedAt", which the service sets itself. Remove it.'],
    [{ input: Listing }, 'the input field "text" is a list, and Note.text in the schema is none.'],
    [
      { input: Flagging },
      'the input field "text" is of the kind "flag", which a schema type String cannot hold.',
    ],
    [
      { input: Counting },
      'the input field "deletedAt" is of the kind "integer", which a schema type Date cannot hold.',
    ],
    [{ writeOnly: 'text' }, 'writeOnly must be a list of input fields.'],
    [{ writeOnly: ['txt'] }, 'writeOnly names "txt", which is not an input field.'],
    [{ writeOnly: ['text'] }, 'writeOnly names "text", which the schema stores. Remove it from one of them.'],
  ],
  isolation: [
    [
      { isolationFields: currentTenant },
      `isolationFields must be an object. It takes all, ${names.actions}.`,
    ],
    [{ isolationFields: undefined }, `isolationFields must be an object. It takes all, ${names.actions}.`],
    [{ isolationFields: null }, `isolationFields must be an object. It takes all, ${names.actions}.`],
    [{ isolationFields: new Map() }, `isolationFields must be an object. It takes all, ${names.actions}.`],
    [
      { isolationFields: { updat: { tenant: currentTenant } } },
      'isolationFields has no "updat". Did you mean "update"?',
    ],
    [
      { isolationFields: { dell: { tenant: currentTenant } } },
      'isolationFields has no "dell". Did you mean "del"?',
    ],
    [
      { isolationFields: { list: { tenant: currentTenant } } },
      `isolationFields has no "list". It takes all, ${names.actions}.`,
    ],
    ...[currentTenant, undefined, null, 'tenant', {}, ['tenant']].map(
      (get) =>
        [
          { isolationFields: { get } },
          'isolationFields.get must name a field and its source, such as { tenant: currentTenant }.',
        ] as const,
    ),
    ...['tenant', undefined, Note.name].map(
      (tenant) =>
        [
          { isolationFields: { get: { tenant } } },
          "isolationFields.get.tenant must be a function, such as currentTenant or claim('sub').",
        ] as const,
    ),
    [
      { isolationFields: { all: { tenat: currentTenant } } },
      'isolationFields.all names "tenat", which the schema does not have.',
    ],
    [
      { isolationFields: { get: { _id: claim('sub') } } },
      'isolationFields.get names "_id", which every request names itself. Isolate by another field.',
    ],
    [
      { isolationFields: { get: { 'inner.a': claim('sub') } } },
      'isolationFields.get names "inner.a", which is inside of another field. Isolate by a field of the record itself.',
    ],
    [
      { isolationFields: { update: { text: claim('sub') } } },
      'isolationFields.update names "text", which clients may send. Remove it from the input class.',
    ],
    [{ disable: 'del' }, `disable must be a list of actions: ${names.actions}.`],
    [{ disable: ['delete'] }, `disable has no "delete". It takes ${names.actions}.`],
    [{ disable: ['creat'] }, 'disable has no "creat". Did you mean "create"?'],
  ],
  archive: ARCHIVE_CASES,
  reading: [
    [{ visible: { deletdAt: null } }, 'visible names "deletdAt", which the schema does not have.'],
    [{ visible: null }, 'visible must be an object of fields and values, such as { deletedAt: null }.'],
    [
      { visible: { deletedAt: undefined } },
      'visible.deletedAt must be a text, a number, true, false or null.',
    ],
    [
      { visible: { deletedAt: { $ne: 1 } } },
      'visible.deletedAt must be a text, a number, true, false or null.',
    ],
    [
      { visible: { deletedAt: 'soon' } },
      'visible.deletedAt is "soon", which a schema type Date cannot hold.',
    ],
    [{ list: null }, 'list must be an object. It takes unpaged, maxLimit.'],
    [{ list: { maxlimit: 5 } }, 'list has no "maxlimit". Did you mean "maxLimit"?'],
    [{ list: { maxLimit: 0 } }, 'list.maxLimit must be a whole number from 1.'],
    [{ list: { unpaged: 'no' } }, 'list.unpaged must be true or false.'],
    [{ output: null }, 'output must be an object. It takes type, from, hides.'],
    [{ output: { typ: Note } }, 'output has no "typ". Did you mean "type"?'],
    [{ output: { type: undefined, from: () => ({}) } }, `output.type is undefined. ${circle}`],
    [{ output: { type: Note } }, 'output.from must be a function of the record and the caller.'],
    [
      { output: { from: () => ({}), hides: 'text' } },
      'output.hides must be a list of fields; write [] if the function hides none.',
    ],
    [
      { output: { from: () => ({}), hides: ['txt'] } },
      'output.hides names "txt", which the schema does not have.',
    ],
    [
      { output: Plain },
      'Plain declares no field to show. Decorate its fields with @ApiProperty() or @IsText() and its like.',
    ],
  ],
  relations: [
    [
      {
        path: 'a/:id2/b',
        parent: { entity: Note, param: 'id2', field: 'above' },
        schema: schemaOf(Note).add({ above: [String] }),
      },
      'parent.field names "above", which is not a single value. A record has one parent.',
    ],
    [
      { schema: schemaOf(Note).add({ _holds: String }) },
      'the schema has "_holds", where writes that refer to a record are noted. Rename the field.',
    ],
    [{ references: Note }, 'references must be an object, such as { category: { to: Category } }.'],
    [{ references: { ref: Note } }, 'references.ref must be an object. It takes to, check, onDelete.'],
    [{ references: { rev: { to: Note } } }, 'references names "rev", which the schema does not have.'],
    [{ references: { ref: { to: undefined } } }, `references.ref.to is undefined. ${circle}`],
    [
      { references: { ref: { to: Note, ondelete: 'restrict' } } },
      'references.ref has no "ondelete". Did you mean "onDelete"?',
    ],
    [
      { references: { ref: { to: Note, check: true } } },
      'references.ref.check must be one of exists, sameScope, false.',
    ],
    [
      { references: { ref: { to: Note, onDelete: 'delete' } } },
      'references.ref.onDelete must be one of restrict, cascade, unset, ignore.',
    ],
    [
      { references: { inner: { to: Note } } },
      'references.inner is of the schema type Embedded, which holds no identifier.',
    ],
    [
      { references: { deletedAt: { to: Note } } },
      'references.deletedAt is of the schema type Date, which holds no identifier.',
    ],
    [{ parent: Note }, 'parent must be an object. It takes entity, param, field.'],
    [parent({ entity: undefined }), `parent.entity is undefined. ${circle}`],
    [parent({ fild: 'x' }), 'parent has no "fild". Did you mean "field"?'],
    [parent({ field: undefined }), 'parent.field must be the name of the field that refers to the parent.'],
    [
      parent({ param: undefined }),
      'parent.param must be the name of a parameter of the path, such as "postId".',
    ],
    [parent({ field: 'post' }), 'parent.field names "post", which the schema does not have.'],
    [
      parent({ field: 'ref' }),
      'parent.field names "ref", which clients may send. Remove it from the input class.',
    ],
    [
      { parent: below.parent },
      'the path needs the parent\'s parameter. Write it like "posts/api/:postId/notes".',
    ],
  ],
  'hooks and routes': [
    [{ hooks: { afterUpdat() {} } }, 'hooks has no "afterUpdat". Did you mean "afterUpdate"?'],
    [{ hooks: { beforeSave() {} } }, `hooks has no "beforeSave". It takes ${names.hooks}.`],
    [{ hooks: { afterUpdate: 1 } }, 'hooks.afterUpdate must be a function.'],
    [{ hooks: null }, 'hooks must be an object of functions, or a provider class.'],
    [{ hooks: () => undefined }, 'hooks must be an object of functions, or a provider class.'],
    [{ hooks: new Misspelt() }, 'hooks has no "afterCreat". Did you mean "afterCreate"?'],
    [{ hooks: Misspelt }, 'Misspelt has no "afterCreat". Did you mean "afterCreate"?'],
    [{ hooks: NoHooks }, 'NoHooks has no hook. Give it methods named like beforeCreate or afterCreate.'],
    [{ hooks: Arrows }, 'Arrows has no hook. Give it methods named like beforeCreate or afterCreate.'],
    [
      { hooks: Injecting },
      'Injecting has a constructor, but no decorator that tells Nest what to inject. Add @Injectable() to it.',
    ],
    [
      { routes: { delete: {} } },
      'routes has no "delete". It takes create, list, count, get, update, del, restore, bulk, import.',
    ],
    [{ bulk: 'yes' }, 'bulk must be true or false.'],
    [{ import: 1 }, 'import must be true or false.'],
    [
      { routes: { bulk: { summary: 'Many' } } },
      'routes.bulk changes a route that is not there. Write bulk: true, or leave it out.',
    ],
    [
      { routes: { del: null } },
      'routes.del must be an object. It takes guards, decorators, summary, response, errors, unkept.',
    ],
    [{ routes: { del: { guard: [] } } }, 'routes.del has no "guard". Did you mean "guards"?'],
    [{ routes: { del: { guards: Plain } } }, 'routes.del.guards must be a list of guards.'],
    [{ routes: { del: { guards: [undefined] } } }, 'routes.del.guards must be a list of guards.'],
    [
      { routes: { del: { decorators: [undefined] } } },
      "routes.del.decorators must be a list of method decorators, such as [Roles('admin')].",
    ],
    [
      { routes: { create: { unkept: 'secret' } } },
      `routes.create.unkept must be a list of the answer's members, such as ["secret"].`,
    ],
    [{ routes: { del: { summary: 5 } } }, 'routes.del.summary must be a text.'],
    [{ routes: { del: { response: undefined } } }, `routes.del.response is undefined. ${circle}`],
    [
      { disable: ['get'], routes: { list: {} } },
      'routes.list changes a route that disable leaves out. Remove one of them.',
    ],
  ],
};
