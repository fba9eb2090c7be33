import type { Type } from '@nestjs/common';
import type { Schema, SchemaType } from 'mongoose';
import { InputReader, schemaOf } from '../../fields/index.js';
import { type IsolationFields, routeParam, type TenantContext } from '../../tenancy/index.js';
import { checkOptions } from '../options/check-options.js';
import { type Fail, failFor, failIf } from '../options/checks.js';
import type { CrudHooks } from '../options/crud-hooks.js';
import {
  ACTIONS,
  type AnyCrudOptions,
  BATCH_HANDLERS,
  type CrudAction,
  type CrudBatchHandler,
  type CrudHandler,
  type CrudParent,
  type CrudReference,
  type CrudRouteOptions,
} from '../options/crud-options.js';
import { PAGE_LIMITS } from '../query/list-query.js';
import { archiveOf, checkArchive } from './archive.js';
import { checkFields, checkInputClass } from './check-fields.js';
import { eventsOf, type EventsDefinition } from './events.js';
import { checkFieldRules, fieldRulesOf, hiddenFrom } from './field-rules.js';
import { addIndexes, checkIndexes, scopesOf } from './indexes.js';
import { addKinds, KindReader, type Kinds, kindsOf, unionOf } from './kinds.js';
import { checkOutputClass, outputOf, presentBy, Presenter } from './output.js';
import { narrowed, type QueryDefinition, queryDefinition } from './query-definition.js';
import { type Composite, isHidden, schemasIn, topOf } from './schema-paths.js';

/** Default of how long audit records are kept. Unit: days. */
const KEPT_DAYS = 365;

/** A reference with its defaults filled in. */
export interface ReferenceDefinition extends Required<CrudReference> {
  /** Path of the field that holds the identifier, such as `category` or `lines.product`. */
  readonly path: string;
}

/** The options of a resource, whose names and shapes are checked. */
class CheckedOptions {
  readonly fail: Fail;

  constructor(readonly options: AnyCrudOptions) {
    this.fail = failFor(options);
    checkOptions(options, this.fail);
  }
}

/**
 * A resource as the generator works with it: checked options with every default filled in. The options and the schema of
 * the caller are not changed.
 */
export class CrudDefinition extends CheckedOptions {
  readonly entity: Type<object> = this.options.entity;
  readonly name = this.options.name;
  /** Name of one record for clients, such as "Post". */
  readonly label = this.entity.name;
  readonly path = this.options.path ?? this.name;
  readonly tag = this.options.tag ?? this.name;
  readonly security = this.options.security;
  readonly disabled: ReadonlySet<CrudAction> = new Set(this.options.disable);
  readonly parent?: CrudParent<Record<string, unknown>> = this.options.parent;
  readonly isolation = isolationOf(this.options);
  readonly visible: Readonly<Record<string, unknown>> = { ...this.options.visible };
  readonly output = outputOf(this.options);
  readonly archive = archiveOf(this.options, this.isolation);
  readonly list = {
    unpaged: this.options.list?.unpaged ?? true,
    maxLimit: this.options.list?.maxLimit ?? PAGE_LIMITS.limit.maximum,
  };
  /** The routes for many writes that the resource has. */
  readonly batches: readonly CrudBatchHandler[] = BATCH_HANDLERS.filter((name) => this.options[name]);
  /** How long audit records of the writes are kept; absent if writes are not audited. */
  readonly audit = auditOf(this.options);
  readonly references = referencesOf(this.options);
  /** Hooks given as functions, or the provider class that has them. */
  readonly hooks: CrudHooks<object, object> | Type<CrudHooks<object, object>> = this.options.hooks ?? {};
  readonly routes: Partial<Record<CrudHandler | CrudBatchHandler, CrudRouteOptions>> =
    this.options.routes ?? {};
  readonly writeOnly: ReadonlySet<string> = new Set(this.options.writeOnly);
  /** The input classes of its kinds, if its records are of several. */
  readonly kinds = kindsOf(this.options, this.fail);
  readonly inputs = inputClasses(this.options, this.kinds, this.fail);
  /** The resource's own copy of the schema, with its indexes. */
  readonly schema = schemaFor(this);
  readonly createReader = readerOf(this.inputs.create, this);
  readonly updateReader = readerOf(this.inputs.update, this);
  /** Names of every field that a client may send. */
  readonly inputFields: readonly string[] = [
    ...new Set(
      [this.createReader, this.updateReader].flatMap(({ fields }) => fields.map(({ name }) => name)),
    ),
  ];
  /** The fields that only some callers read or write. */
  readonly fieldRules = fieldRulesOf(this.options);
  /** Shows the entity's visible fields; `present` then applies the option `output`. */
  readonly presenter = new Presenter(this.schema, this.inputFields);
  /** Shows a record to a caller. */
  readonly present = presentBy(this);
  /** Names of the fields that clients see, including `_id`. */
  readonly shownFields: readonly string[] = this.output?.fields ?? this.presenter.fields;
  /** The references that clients can see, and therefore expand, by path. */
  readonly expandable = expandableOf(this);
  /** The sets of fields that lists and counts of live records are filtered by. */
  readonly scopes = scopesOf(this);
  /** The events of its writes; absent if subscribers are not told of them. */
  readonly events?: EventsDefinition;
  readonly query: QueryDefinition;
  /**
   * The definition as a caller knows it, whose queries name only fields that the caller may read; undefined if that are
   * all.
   */
  readonly viewOf?: (caller: TenantContext) => CrudDefinition;

  /** @throws Error that names the fix, if the options cannot make a resource */
  constructor(options: AnyCrudOptions) {
    super(options);
    checkOutputClass(this);
    checkFields(this);
    checkIndexes(this);
    checkArchive(this);
    this.events = eventsOf(this);
    this.query = queryDefinition(this);
    addIndexes(this);
    checkFieldRules(this);
    if (this.fieldRules.size > 0) this.viewOf = viewsOf(this);
  }
}

function auditOf({ audit }: AnyCrudOptions): { readonly keptDays: number } | undefined {
  if (!audit) return undefined;
  const { keptDays = KEPT_DAYS } = audit === true ? {} : audit;
  return { keptDays };
}

function inputClasses({ input }: AnyCrudOptions, kinds: Kinds | undefined, fail: Fail) {
  const given = kinds ? unionOf(input as Type<object>, kinds) : input;
  const inputs: Record<'create' | 'update', Type<object>> = typeof given === 'object'
    ? given
    : { create: given, update: given };
  for (const type of new Set([inputs.create, inputs.update])) checkInputClass(type, fail);
  return inputs;
}

function schemaFor({ options, entity, kinds, writeOnly, fail }: CrudDefinition): Schema {
  const schema = options.schema?.clone() ?? schemaOf(entity);
  failIf(fail, '', {
    [`no schema found. Decorate ${entity.name} with @Schema() and its fields with @Prop(), or pass { schema }.`]:
      !options.schema && !Object.keys(schema.paths).some((path) => path !== '_id'),
    'records need a revision, "__v". Leave versionKey out of the options of the schema.':
      schema.get('versionKey') !== '__v',
    'lists are sorted by createdAt, which the schema does not have. Write @Schema({ timestamps: true }).':
      !schema.path('createdAt'),
  });
  rejectCoercionInMaps(schema);
  if (kinds) addKinds(schema, kinds, writeOnly);
  return schema;
}

/** Reads bodies. Code may also set fields of the schema that no client may send. */
function readerOf(type: Type<object>, { kinds, schema }: CrudDefinition): InputReader<object> {
  const stored = new Set(Object.keys(schema.paths).map(topOf));
  const extras = [...stored].filter((field) => field !== '_id' && field !== '__v');
  return kinds ? new KindReader(type, kinds, extras) : new InputReader(type, extras);
}

/** The isolation of each action: the fields of `all`, of the action, or of get for count, and of the parent. */
function isolationOf({
  isolationFields = {},
  parent,
}: AnyCrudOptions): Readonly<Record<CrudAction, IsolationFields>> {
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

function referencesOf({ references = {} }: AnyCrudOptions): readonly ReferenceDefinition[] {
  return Object.entries(references).map(([path, { to, check = 'exists', onDelete = 'ignore' }]) => ({
    path,
    to,
    check,
    onDelete,
  }));
}

function expandableOf({
  references,
  schema,
  shownFields,
}: CrudDefinition): ReadonlyMap<string, ReferenceDefinition> {
  const isShown = (path: string) => shownFields.includes(topOf(path));
  const shown = references.filter(({ path }) => isShown(path) && !isHidden(schema, path));
  return new Map(shown.map((reference) => [reference.path, reference]));
}

/** Makes a function that returns a definition as a caller knows it: without the fields that the caller may not read. */
function viewsOf(definition: CrudDefinition): CrudDefinition['viewOf'] {
  const views = new Map<string, CrudDefinition>([['', definition]]);
  return (caller) => {
    const hidden = hiddenFrom(definition.fieldRules, caller);
    const key = hidden.join();
    const view = views.get(key) ?? without(definition, hidden);
    views.set(key, view);
    return view;
  };
}

function without(definition: CrudDefinition, hidden: readonly string[]): CrudDefinition {
  const { query, shownFields, expandable } = definition;
  const isShown = (path: string) => !hidden.includes(topOf(path));
  return {
    ...definition,
    query: { ...query, ...narrowed(query, isShown), live: narrowed(query.live, isShown) },
    shownFields: shownFields.filter(isShown),
    expandable: new Map([...expandable].filter(([path]) => isShown(path))),
  };
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
function rejectCoercionInMaps(schema: Schema): void {
  for (const [path, type] of schemasIn(schema).flatMap(({ paths }) => Object.entries(paths))) {
    const { $__schemaType: entries } = type as SchemaType & Composite;
    for (const entry of [entries, path.endsWith('.$*') ? type : undefined]) {
      if (entry && COERCING.includes(entry.instance)) (entry as SchemaType & WithCast).castFunction(false);
    }
  }
}
