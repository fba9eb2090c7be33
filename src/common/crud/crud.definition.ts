import type { Type } from '@nestjs/common';
import { Schema } from 'mongoose';
import { schemaOf as schemaOfFields } from '../fields/index.js';
import type { IsolationFields } from '../tenancy/index.js';
import { createBodyClasses, type CrudClasses } from './crud.classes.js';
import type { CrudAction, CrudHooks, CrudOptions } from './crud-options.interface.js';
import { type InputFields, inputFieldsOf } from './input-fields.js';
import type { Presentation } from './present.js';

/** A resource as the generator works with it: the options with every default filled in. */
export interface CrudDefinition<Entity extends object, Input extends object> extends Presentation {
  readonly entity: Type<Entity>;
  readonly name: string;
  /** What a client calls one record, such as "Post". */
  readonly label: string;
  readonly path: string;
  readonly tag: string;
  readonly schema: Schema;
  readonly disabled: ReadonlySet<CrudAction>;
  readonly isolationFields: Readonly<Record<CrudAction, IsolationFields>>;
  readonly visible: Readonly<Record<string, unknown>>;
  readonly hooks: CrudHooks<Entity>;
  readonly inputFields: InputFields;
  readonly classes: CrudClasses<Entity, Input>;
}

const ACTIONS: readonly CrudAction[] = ['get', 'count', 'create', 'update', 'del'];
const definitions = new WeakMap<object, unknown>();

/**
 * The definition that options describe; the same object for the same options, so that a controller and a module made
 * from them agree.
 *
 * @throws Error that names the fix, where the options cannot make a resource
 */
export function defineCrud<Entity extends object, Input extends object>(
  options: CrudOptions<Entity, Input>,
): CrudDefinition<Entity, Input> {
  const known = definitions.get(options) as CrudDefinition<Entity, Input> | undefined;
  if (known) return known;
  const definition = resolve(options);
  definitions.set(options, definition);
  return definition;
}

function resolve<Entity extends object, Input extends object>(
  options: CrudOptions<Entity, Input>,
): CrudDefinition<Entity, Input> {
  const fail = failFor(options.entity);
  const { entity, input, name, path = name, tag = name } = options;
  if (!/^[a-z][\w-]*$/i.test(name)) fail(`the name "${name}" is not a word. Use letters, digits, - and _.`);
  if (!/^[\w-]+(\/[\w-]+)*$/.test(path)) fail(`the path "${path}" is not a path. Write it like "posts/api".`);
  const schema = options.schema ?? schemaOf(entity, fail);
  const inputFields = inputFieldsOf(input);
  if (inputFields.all.length === 0) {
    fail(
      `${input.name} has no validated field. Decorate its fields with class-validator or @IsText() and its like.`,
    );
  }
  const unknown = inputFields.all.find((field) => !schema.path(field));
  if (unknown)
    fail(
      `the input field "${unknown}" is not in the schema. Decorate ${entity.name}.${unknown} with @Prop().`,
    );

  const isolationFields = Object.fromEntries(
    ACTIONS.map((action) => [action, options.isolationFields?.[action] ?? {}]),
  ) as Record<CrudAction, IsolationFields>;
  for (const [action, fields] of Object.entries(isolationFields)) {
    for (const field of Object.keys(fields)) {
      if (!schema.path(field))
        fail(`isolationFields.${action} names "${field}", which the schema does not have.`);
      if (inputFields.all.includes(field)) {
        fail(
          `isolationFields.${action} names "${field}", which clients may send. Remove it from ${input.name}.`,
        );
      }
    }
  }
  const stray = options.disable?.find((action) => !ACTIONS.includes(action));
  if (stray) fail(`disable names "${String(stray)}". The actions are ${ACTIONS.join(', ')}.`);

  const visible = { ...options.visible };
  for (const equalities of readEqualities(visible, isolationFields)) addListIndex(schema, equalities);
  return {
    entity,
    name,
    label: entity.name,
    path,
    tag,
    schema,
    disabled: new Set(options.disable),
    isolationFields,
    visible,
    hooks: options.hooks ?? {},
    inputFields,
    ...presentationOf(schema),
    classes: createBodyClasses(entity, input, inputFields),
  };
}

function failFor(entity: Type | undefined): (problem: string) => never {
  return (problem) => {
    throw new Error(`CrudModule.forFeature(${entity?.name ?? 'undefined'}): ${problem}`);
  };
}

function schemaOf(entity: Type, fail: (problem: string) => never): Schema {
  const schema = schemaOfFields(entity);
  const declared = Object.keys(schema.paths).filter((path) => path !== '_id');
  if (declared.length === 0) {
    fail(
      `no schema found. Decorate ${entity.name} with @Schema() and its fields with @Prop(), or pass { schema }.`,
    );
  }
  if (!schema.get('timestamps')) {
    fail(
      `lists are sorted by createdAt, which the schema does not have. Write @Schema({ timestamps: true }).`,
    );
  }
  return schema;
}

/** The fields that lists are filtered by, and those that counts are, where they are others. */
function readEqualities(visible: object, isolation: Record<CrudAction, object>): string[][] {
  const [list, count] = [isolation.get, isolation.count].map((fields) => [
    ...Object.keys(visible),
    ...Object.keys(fields),
  ]) as [string[], string[]];
  return [...list].sort().join() === [...count].sort().join() ? [list] : [list, count];
}

/** Serves the list, newest first, its pages and its count; equality fields come before the sorted ones. */
function addListIndex(schema: Schema, equalities: readonly string[]): void {
  schema.index({ ...Object.fromEntries(equalities.map((field) => [field, 1])), createdAt: -1, _id: -1 });
}

function presentationOf(schema: Schema): Presentation {
  const hidden = new Set<string>();
  const visible = new Set<string>(['_id']);
  schema.eachPath((path, type) => {
    const isHidden =
      (type.options as { select?: boolean }).select === false || path === schema.get('versionKey');
    if (isHidden) hidden.add(path);
    else visible.add(path.split('.', 1)[0] ?? path);
  });
  return { fields: [...visible], hiddenPaths: [...hidden].filter((path) => path.includes('.')) };
}
