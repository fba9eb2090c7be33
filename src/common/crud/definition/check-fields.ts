import type { Type } from '@nestjs/common';
import type { SchemaType } from 'mongoose';
import { apiNamesOf, type FieldDescription, fieldsOf, unvalidatedFieldsOf } from '../../fields/index.js';
import { fieldSets, type IsolationFields } from '../../tenancy/index.js';
import { type Fail, failIf } from '../options/checks.js';
import type { HookName } from '../options/crud-options.js';
import {
  entryTypeOf,
  hasMiddleware,
  isDeclared,
  listsOn,
  schemaOf,
  topOf,
  valueTypeAt,
} from '../schema/schema-paths.js';
import { HOLDS, OUTBOX, WORDS } from '../schema/store-types.js';
import type { CrudDefinition } from './crud-definition.js';
import { isRequiredByKind } from './kinds.js';

/** Fields that the generator sets itself. */
export const SERVICE_FIELDS = ['_id', '__v', 'createdAt', 'updatedAt'];

/** Schema types that can hold each kind of field. A kind that is not listed fits any type. */
const FITTING: Readonly<Partial<Record<FieldDescription['kind'], readonly string[]>>> = {
  string: ['String', 'UUID', 'Mixed'],
  integer: ['Number', 'Int32', 'Double', 'BigInt', 'Decimal128', 'Mixed'],
  number: ['Number', 'Double', 'Decimal128', 'Mixed'],
  decimal: ['Decimal128', 'String', 'Mixed'],
  boolean: ['Boolean', 'Mixed'],
  timestamp: ['Date', 'Mixed'],
  identifier: ['ObjectId', 'String', 'Mixed'],
};

/** Checks that every field of a body's class is validated. */
export function checkBodyClass(input: Type<object>, where: string, fail: Fail): void {
  const [bare] = unvalidatedFieldsOf(input);
  failIf(fail, '', {
    [`the field "${bare}" of ${where} has no validation. Decorate it with @IsText() or its like, or with class-validator.`]:
      bare !== undefined,
    [`${where} has no validated field. Decorate its fields with class-validator or @IsText() and its like.`]:
      fieldsOf(input).length === 0,
  });
}

export function checkInputClass(input: Type<object>, fail: Fail): void {
  checkBodyClass(input, input.name, fail);
  const own = fieldsOf(input).find(({ name }) => SERVICE_FIELDS.includes(name));
  if (own) fail(`${input.name} has a field "${own.name}", which the service sets itself. Remove it.`);
}

/** Checks that the entity has every field that an option or an input names, and that the field can hold its values. */
export function checkFields(definition: CrudDefinition): void {
  const { fail, options, output, schema, visible, parent, references, kinds, writeOnly } = definition;
  const { createReader, updateReader, inputFields } = definition;
  for (const field of [...createReader.fields, ...updateReader.fields]) checkInputField(field, definition);
  const unsent = [...writeOnly].find((name) => !inputFields.includes(name));
  if (unsent !== undefined) fail(`writeOnly names "${unsent}", which is not an input field.`);
  checkIsolation(definition);
  const isMissing = (name: string) => !isDeclared(schema, name);
  const taken = [HOLDS, OUTBOX, WORDS].find((name) => !isMissing(name));
  const unseen = Object.keys(visible).find(isMissing);
  const unhidden = output?.hides?.find(isMissing);
  const view = output?.type;
  const [unheld, value] =
    Object.entries(visible).find(([name, one]) => !canHold(schema.path(name), one)) ?? [];
  const unique = schema.indexes().flatMap(([keys, index]) => (index.unique ? Object.keys(keys) : []));
  const plain = options.globallyUnique?.find((name) => !unique.includes(name));
  failIf(fail, '', {
    [`the schema has "${taken}", which the generator stores with a record. Rename the field.`]:
      taken !== undefined,
    [`visible names "${unseen}", which the schema does not have.`]: unseen !== undefined,
    [`output.hides names "${unhidden}", which the schema does not have.`]: unhidden !== undefined,
    [`${view?.name} declares no field to show. Decorate its fields with @ApiProperty() or @IsText() and its like.`]:
      view && fieldsOf(view).length === 0 && apiNamesOf(view).length === 0,
    [`visible.${unheld} is ${JSON.stringify(value)}, which the field cannot hold.`]: unheld !== undefined,
    [`globallyUnique names "${plain}", which has no unique index. Write @Prop({ unique: true }), or leave it out.`]:
      plain !== undefined,
    [`parent.field names "${parent?.field}", which is not a single value of the schema. Choose another.`]:
      parent && !isSingle(schema.path(parent.field)),
  });
  for (const { path, onDelete } of references) {
    const type = schema.path(path) as SchemaType | undefined;
    // A list only loses an entry.
    const isRequired = (type?.isRequired || isRequiredByKind(kinds, path)) && type?.instance !== 'Array';
    const isInList = listsOn(schema, path).some((outer) => outer !== path);
    failIf(fail, 'references', {
      [` names "${path}", which is not a field of the schema that can hold an identifier.`]:
        !FITTING.identifier?.includes(valueTypeAt(schema, path)?.instance ?? ''),
      [`.${path}.onDelete cannot be "unset", since the field is required, or in a list of objects. Write "restrict", "cascade" or "ignore".`]:
        onDelete === 'unset' && (isRequired || isInList),
    });
  }
}

/** Whether a type has single values, which are no lists or objects, and cannot be. */
function isSingle(type: SchemaType | undefined): boolean {
  return type !== undefined && !['Array', 'Map', 'Mixed'].includes(type.instance) && !schemaOf(type);
}

function canHold(type: SchemaType | undefined, value: unknown): boolean {
  try {
    return value === null || type?.cast(value) !== undefined;
  } catch {
    return false;
  }
}

function checkInputField({ name, list, kind }: FieldDescription, definition: CrudDefinition): void {
  const { entity, fail, schema, writeOnly } = definition;
  const isStored = isDeclared(schema, name);
  const isUnstored = writeOnly.has(name);
  if (isUnstored && !isStored) return;
  const at = `${entity.name}.${name}`;
  // The schema may declare a nested object by its members only.
  const instance = schema.path(name)?.instance ?? 'Mixed';
  const isFitting = list ? instance === 'Array' : (FITTING[kind]?.includes(instance) ?? instance !== 'Array');
  failIf(fail, '', {
    [`writeOnly names "${name}", which the schema stores. Remove it from one of them.`]: isUnstored,
    [`the input field "${name}" is not in the schema. Decorate ${at} with @Prop(), or name it in writeOnly.`]:
      !isStored,
    [`the input field "${name}" is ${list ? 'a list' : `of the kind "${kind}"`}, which ${at}, of the schema type ${instance}, cannot hold.`]:
      instance !== 'Mixed' && !isFitting,
  });
}

function checkIsolation(definition: CrudDefinition): void {
  const { fail, inputFields, isolation, options, parent, references, schema } = definition;
  const given = (options.isolationFields ?? {}) as Readonly<Record<string, IsolationFields>>;
  for (const [action, fields] of Object.entries(given)) {
    // A filter has only one condition on the identifier: the one that the request names. No claim equals an object,
    // and in a filter it would be an operator.
    const isOwn = (field: string) =>
      field !== '_id' && !field.includes('.') && isSingle(valueTypeAt(schema, field));
    const wrong = fieldSets(fields)
      .flat()
      .find((field) => !isOwn(field));
    if (wrong !== undefined)
      fail(
        `isolationFields.${action} names "${wrong}", which is no single value of the record itself, nor a list of them. Choose another field.`,
      );
  }
  for (const [action, fields] of Object.entries(isolation)) {
    // A write keeps the caller in a list, whatever else clients put into it.
    const isList = (field: string) => entryTypeOf(schema.path(field)) ?? fields[field]?.isList;
    const open = Object.keys(fields).find((field) => inputFields.includes(field) && !isList(field));
    if (open === undefined) continue;
    const option = `isolationFields.${open in (given[action] ?? {}) ? action : 'all'}`;
    const at = open === parent?.field ? 'parent.field' : option;
    fail(`${at} names "${open}", which clients may send. Remove it from the input class.`);
  }
  const shared = references.find(({ check }) => check === 'sameScope');
  const several = Object.entries(isolation.update).find(([, { exempts, isList }]) => exempts || isList);
  if (shared && several)
    fail(
      `references.${shared.path}.check is "sameScope", but a caller may update records of several "${several[0]}", by unlessCaller or claims. Write check: 'exists', or isolate updates by one value.`,
    );
}

/** Whether a class requires a field that the store does not miss: a text that may be empty, or a field of one kind. */
export function isLeftToCode(field: FieldDescription, type: SchemaType | undefined): boolean {
  if (!type || type.isRequired || !field.required) return false;
  // A field of class-validator is as required in the database as its @Prop() says.
  const { required = field.declaration !== undefined } = type.options as { required?: unknown };
  const { defaultValue: given } = type as { defaultValue?: unknown };
  return given === undefined && required === true;
}

export function hasHook({ hooks }: CrudDefinition, name: HookName): boolean {
  return name in ((typeof hooks === 'function' ? hooks.prototype : hooks) as object);
}

/** Checks that every required field comes from the input, the scope, a default or a hook, for lack of code that sets it. */
export function checkRequired(definition: CrudDefinition): void {
  const { entity, fail, schema, isolation, createReader, disabled } = definition;
  if (hasHook(definition, 'beforeCreate') || disabled.has('create')) return;
  const named = createReader.fields.map(({ name }) => name);
  const given = [...named, ...Object.keys(isolation.create), ...SERVICE_FIELDS];
  const texts = new Map(fieldsOf(entity).map((field) => [field.name, field]));
  for (const [path, type] of Object.entries(schema.paths)) {
    const hasDefault = (type.options as { default?: unknown }).default !== undefined;
    const text = hasMiddleware(schema) ? undefined : texts.get(path);
    const isRequired = (type.isRequired && !hasDefault) || (text && isLeftToCode(text, type));
    if (!isRequired || given.includes(topOf(path))) continue;
    fail(
      `the schema requires "${path}", but nothing sets it. Add it to the input, isolationFields or a beforeCreate hook, or give it a default.`,
    );
  }
}
