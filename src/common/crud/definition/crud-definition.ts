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
  type CrudReference,
} from '../options/crud-options.js';
import { narrowed, PAGE_LIMITS, type QueryDefinition, queryDefinition } from './query-definition.js';
import { archivedIsolationOf, archiveOf, checkArchive } from './archive.js';
import { checkFields, checkInputClass } from './check-fields.js';
import { eventsOf, type EventsDefinition } from './events.js';
import { checkFieldRules, fieldRulesOf, hiddenFrom } from './field-rules.js';
import { addIndexes, checkIndexes } from './indexes.js';
import { addKinds, KindReader, type Kinds, kindsOf, unionOf } from './kinds.js';
import { outputOf, presentBy, Presenter } from './output.js';
import { type Composite, isHidden, topOf, typesIn } from '../schema/schema-paths.js';

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

/** A resource as the generator works with it: checked options, and defaults. What the caller has passed is not changed. */
export class CrudDefinition extends CheckedOptions {
  readonly entity: Type<object> = this.options.entity;
  readonly name = this.options.name;
  /** Name of one record for clients, such as "Post". */
  readonly label = this.entity.name;
  readonly path = this.options.path ?? this.name;
  readonly tag = this.options.tag ?? this.name;
  readonly security = this.options.security;
  readonly disabled: ReadonlySet<CrudAction> = new Set(this.options.disable);
  readonly parent = this.options.parent;
  readonly isolation = isolationOf(this.options);
  readonly visible: Readonly<Record<string, unknown>> = { ...this.options.visible };
  readonly output = outputOf(this.options);
  readonly archive = archiveOf(this.options);
  /** The isolation of each action if it reads archived records. */
  readonly archivedIsolation = archivedIsolationOf(this);
  readonly list = {
    unpaged: this.options.list?.unpaged ?? true,
    maxLimit: this.options.list?.maxLimit ?? PAGE_LIMITS.limit.maximum,
  };
  /** The routes for many writes that the resource has. */
  readonly batches = BATCH_HANDLERS.filter((name) => this.options[name]);
  /** How long audit records of the writes are kept; absent if writes are not audited. */
  readonly audit = auditOf(this.options);
  readonly references = referencesOf(this.options);
  /** Hooks given as functions, or the provider class that has them. */
  readonly hooks: CrudHooks<object, object> | Type<CrudHooks<object, object>> = this.options.hooks ?? {};
  readonly routes: NonNullable<AnyCrudOptions['routes']> = this.options.routes ?? {};
  readonly writeOnly: ReadonlySet<string> = new Set(this.options.writeOnly);
  readonly kinds = kindsOf(this.options, this.fail);
  readonly inputs = inputClasses(this.options, this.kinds, this.fail);
  /** The resource's own copy of the schema, with its indexes. */
  readonly schema = schemaFor(this);
  readonly createReader = readerOf(this.inputs.create, this);
  readonly updateReader = readerOf(this.inputs.update, this);
  /** Names of every field that a client may send. */
  readonly inputFields: readonly string[] = [
    ...new Set([...this.createReader.fields, ...this.updateReader.fields].map(({ name }) => name)),
  ];
  readonly fieldRules = fieldRulesOf(this.options);
  /** Shows the entity's visible fields; `present` then applies the option `output`. */
  readonly presenter = new Presenter(this.schema, this.inputFields);
  readonly present = presentBy(this);
  /** Names of the fields that clients see, including `_id`. */
  readonly shownFields: readonly string[] = this.output?.fields ?? this.presenter.fields;
  /** The references that clients can see, and therefore expand, by path. */
  readonly expandable = expandableOf(this);
  /** The events of its writes; absent if subscribers are not told of them. */
  readonly events?: EventsDefinition;
  readonly query: QueryDefinition;
  /** The definition as a caller knows it, without the fields that not all may read; undefined if there are none. */
  readonly viewOf = this.fieldRules.size > 0 ? viewsOf(this) : undefined;

  /** @throws Error that names the fix, if the options cannot make a resource */
  constructor(options: AnyCrudOptions) {
    super(options);
    checkFields(this);
    checkIndexes(this);
    checkArchive(this);
    this.events = eventsOf(this);
    this.query = queryDefinition(this);
    addIndexes(this);
    checkFieldRules(this);
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
function isolationOf(options: AnyCrudOptions): Readonly<Record<CrudAction, IsolationFields>> {
  const { isolationFields = {}, parent } = options;
  const below = parent ? { [parent.field]: routeParam(parent.param) } : {};
  const given = isolationFields as Partial<Record<CrudAction | 'all', IsolationFields>>;
  const fields = { count: given.get, ...given };
  const isolation = ACTIONS.map((action) => {
    const sources = Object.entries({ ...below, ...fields.all, ...fields[action] });
    // Nobody is exempt from what a new record belongs to.
    const create = sources.map(([field, source]) => [field, source.inner ?? source] as const);
    return [action, Object.fromEntries(action === 'create' ? create : sources)];
  });
  return Object.fromEntries(isolation) as Record<CrudAction, IsolationFields>;
}

function referencesOf({ references = {} }: AnyCrudOptions): readonly ReferenceDefinition[] {
  return Object.entries(references).map(([path, reference]) => {
    const { to, check = 'exists', onDelete = 'ignore' } = reference;
    return { path, to, check, onDelete };
  });
}

function expandableOf({ references, schema, shownFields }: CrudDefinition) {
  const isShown = (path: string) => shownFields.includes(topOf(path));
  const shown = references.filter(({ path }) => isShown(path) && !isHidden(schema, path));
  return new Map(shown.map((reference) => [reference.path, reference] as const));
}

/** Returns the definition for a caller; made once for all from whom the same fields are hidden. */
function viewsOf(definition: CrudDefinition): (caller: TenantContext) => CrudDefinition {
  const views = new Map<string, CrudDefinition>();
  return (caller) => {
    const hidden = hiddenFrom(definition.fieldRules, caller);
    const view = views.get(hidden.join()) ?? without(definition, hidden);
    views.set(hidden.join(), view);
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

/** Mongoose types that convert other JSON values, such as 12 to "12". */
const COERCING = ['String', 'Number', 'Boolean'];

/** The input class does not check the entries of maps, and Mongoose would convert those of another type. */
function rejectCoercionInMaps(schema: Schema): void {
  for (const [path, type] of typesIn(schema)) {
    const { $__schemaType: entries } = type as SchemaType & Composite;
    for (const entry of [entries, path.endsWith('.$*') ? type : undefined])
      if (entry && COERCING.includes(entry.instance)) (entry as Composite).castFunction?.(false);
  }
}
