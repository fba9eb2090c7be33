import type { Type } from '@nestjs/common';
import type { Schema, SchemaType } from 'mongoose';
import { InputReader, schemaOf } from '../../fields/index.js';
import { type IsolationFields, routeParam } from '../../tenancy/index.js';
import { checkOptions } from '../options/check-options.js';
import { type Fail, failFor } from '../options/checks.js';
import type {
  AnyCrudOptions,
  CrudAction,
  CrudInput,
  CrudOptions,
  CrudOutput,
} from '../options/crud-options.js';
import { ACTIONS, BATCH_HANDLERS } from '../options/option-names.js';
import { archiveOf, checkArchive } from './archive.js';
import { checkFields, checkInputClass, checkOutputClass } from './check-fields.js';
import { checkIndexes } from './check-indexes.js';
import type { CrudDefinition, ReferenceDefinition } from './crud-definition.js';
import { eventsOf } from './events.js';
import { checkFieldRules, fieldRulesOf, viewsOf } from './field-rules.js';
import { type Composite, isHidden, schemasIn } from './schema-paths.js';
import { addKinds, KIND, KindReader, kindsOf, unionOf } from './kinds.js';
import { addIndexes, scopesOf } from './indexes.js';
import { queryDefinition } from './query-definition.js';
import { outputClassOf, outputFieldsOf, presentBy, Presenter, showsStored } from './output.js';

/** Default of the maximum number of records per page. Unit: records. */
const MAX_LIMIT = 100;

/** Default of how long audit records are kept. Unit: days. */
const KEPT_DAYS = 365;

/**
 * Makes the definition that options describe. The options and schema of the caller are not changed.
 *
 * @throws Error that names the fix, if the options cannot make a resource
 */
export function defineCrud(options: AnyCrudOptions): CrudDefinition {
  const fail = failFor(options);
  checkOptions(options, fail);
  const {
    entity,
    name,
    path = name,
    tag = name,
    parent,
  } = options as CrudOptions<Record<string, unknown>, object>;
  const kinds = kindsOf(options, fail);
  const inputs = inputClasses(kinds ? unionOf(options.input as Type<object>, kinds) : options.input);
  const { create, update } = inputs;
  const writeOnly = new Set<string>(options.writeOnly);
  for (const type of new Set<Type<object>>([create, update])) checkInputClass(type, fail);
  checkOutputClass(outputClassOf(options.output as CrudOutput<object> | undefined), fail);
  const schema = rejectCoercionInMaps(
    timestamped(options.schema?.clone() ?? entitySchema(entity, fail), fail),
  );
  if (kinds) addKinds(schema, kinds, writeOnly);
  const isolation = isolationOf(options);
  const stored = Object.keys(schema.paths).map((stem) => stem.split('.', 1)[0] ?? stem);
  const extras = [...new Set(stored)].filter((field) => field !== '_id' && field !== '__v');
  const readerOf = (type: Type<object>) =>
    kinds ? new KindReader(type, kinds, extras) : new InputReader(type, extras);
  const [createReader, updateReader] = [readerOf(create), readerOf(update)];
  const read = [createReader, updateReader].flatMap(({ fields }) => fields.map((field) => field.name));
  const inputFields = [...new Set(read)];
  checkFields({ options, schema, kinds, isolation, createReader, updateReader, writeOnly }, fail);
  checkIndexes(schema, fail);
  const archive = archiveOf(options, isolation);
  checkArchive({ options, schema, isolation, archive, inputFields }, fail);
  const events = eventsOf({ options, schema, isolation, archive }, fail);
  const visible = { ...options.visible };
  const { unpaged = true, maxLimit = MAX_LIMIT } = options.list ?? {};
  const list = { unpaged, maxLimit };
  const presenter = new Presenter(schema, inputFields);
  const outputFields = outputFieldsOf(options.output as CrudOutput<object> | undefined);
  const shownFields = outputFields ?? presenter.fields;
  const scopes = scopesOf({ visible, isolation, archive });
  const references = referencesOf(options);
  const described = { entity, schema, archive, inputFields, output: options.output, references, scopes };
  const { filter = [], ...queries } = (options.query ?? {}) as { filter?: readonly string[] };
  const filters =
    kinds && showsStored(options.output, KIND) === true ? [...new Set([KIND, ...filter])] : filter;
  const query = queryDefinition({ ...queries, filter: filters as never }, described, fail);
  const { globallyUnique = [] } = options as CrudOptions<Record<string, unknown>, object>;
  addIndexes(schema, { ...described, visible, isolation, globallyUnique, orders: query.indexed }, fail);
  const fieldRules = fieldRulesOf(options);
  const definition: CrudDefinition = {
    options,
    entity,
    name,
    label: entity.name,
    path,
    tag,
    security: options.security,
    schema,
    disabled: new Set(options.disable),
    isolation,
    visible,
    archive,
    list,
    query,
    batches: BATCH_HANDLERS.filter((name) => options[name]),
    events,
    audit: auditOf(options),
    parent,
    references,
    expandable: expandableOf(references, schema, shownFields),
    hooks: options.hooks ?? {},
    routes: options.routes ?? {},
    writeOnly,
    inputs,
    kinds,
    createReader,
    updateReader,
    inputFields,
    shownFields,
    fieldRules,
    present: presentBy(presenter, options.output, fieldRules),
    presenter,
  };
  checkFieldRules(definition, fail);
  return fieldRules.size === 0 ? definition : Object.assign(definition, { viewOf: viewsOf(definition) });
}

function auditOf({ audit }: AnyCrudOptions): CrudDefinition['audit'] {
  if (!audit) return undefined;
  const { keptDays = KEPT_DAYS } = audit === true ? {} : audit;
  return { keptDays };
}

function inputClasses(input: CrudInput<object, object>): CrudDefinition['inputs'] {
  return typeof input === 'object' ? input : { create: input, update: input };
}

function entitySchema(entity: Type<object>, fail: Fail): Schema {
  const schema = schemaOf(entity);
  if (Object.keys(schema.paths).some((path) => path !== '_id')) return schema;
  return fail(
    `no schema found. Decorate ${entity.name} with @Schema() and its fields with @Prop(), or pass { schema }.`,
  );
}

function timestamped(schema: Schema, fail: Fail): Schema {
  if (schema.get('versionKey') !== '__v')
    fail('records need a revision, "__v". Leave versionKey out of the options of the schema.');
  if (schema.path('createdAt')) return schema;
  return fail(
    'lists are sorted by createdAt, which the schema does not have. Write @Schema({ timestamps: true }).',
  );
}

/** The isolation of each action: the fields of `all`, of the action, or of get for count, and of the parent. */
function isolationOf({ isolationFields = {}, parent }: AnyCrudOptions): Record<CrudAction, IsolationFields> {
  const below = parent ? { [parent.field]: routeParam(parent.param) } : {};
  const given = isolationFields as Partial<Record<CrudAction | 'all', IsolationFields>>;
  const fields = { count: given.get, ...given };
  const ofAction = (action: CrudAction) => ({ ...below, ...fields.all, ...fields[action] });
  const isolation = ACTIONS.map((action) => {
    const sources = Object.entries(ofAction(action)).map(([field, source]) => {
      // Nobody is exempt from what a new record belongs to.
      return [field, (action === 'create' ? source.inner : undefined) ?? source] as const;
    });
    return [action, Object.fromEntries(sources)];
  });
  return Object.fromEntries(isolation) as Record<CrudAction, IsolationFields>;
}

function referencesOf({ references = {} }: AnyCrudOptions): ReferenceDefinition[] {
  return Object.entries(references).map(([path, { to, check = 'exists', onDelete = 'ignore' }]) => ({
    path,
    to,
    check,
    onDelete,
  }));
}

/** The references in fields that clients see. */
function expandableOf(
  references: readonly ReferenceDefinition[],
  schema: Schema,
  shown: readonly string[],
): Map<string, ReferenceDefinition> {
  const seen = references.filter(
    ({ path }) => shown.includes(path.split('.', 1)[0] ?? '') && !isHidden(schema, path),
  );
  return new Map(seen.map((reference) => [reference.path, reference]));
}

interface WithCast {
  castFunction(caster: false): unknown;
}

/** Mongoose types that convert other JSON values, such as 12 to "12". */
const COERCING = ['String', 'Number', 'Boolean'];

/**
 * Makes the maps of a schema reject entries of another type. The entries of a map are the one part of a body
 * that the input class does not validate, and Mongoose would convert them.
 */
function rejectCoercionInMaps(schema: Schema): Schema {
  for (const [path, type] of schemasIn(schema).flatMap(({ paths }) => Object.entries(paths))) {
    const { $__schemaType: entries } = type as SchemaType & Composite;
    for (const entry of [entries, path.endsWith('.$*') ? type : undefined]) {
      if (entry && COERCING.includes(entry.instance)) (entry as SchemaType & WithCast).castFunction(false);
    }
  }
  return schema;
}
