import type { Type } from '@nestjs/common';
import { getMetadataStorage, type ValidationArguments } from 'class-validator';
import type { ValidationMetadata } from 'class-validator/types/metadata/ValidationMetadata.js';
import { isObjectId } from '../ids/index.js';
import { fieldMessages, SHAPES } from './fault-list.js';
import { FieldDeclaration } from './field-rule.js';
import { type FieldSource, sourcesOf } from './field-source.js';
import { isWellFormed } from './is-text.js';
import { isConditional, validationsOf } from './metadata.js';
import { isPlainObject, plainLeaf } from './plain-object.js';
import { isBuiltIn } from './plain-rules.js';
import { isTimestampDate } from './timestamps.js';
import { validationClassOf } from './validation-class.js';

/**
 * The form of a value: `whole`; a merge `patch`, whose nested objects are also partial; or some fields of a
 * whole value after a patch was `merged` into them.
 */
export type ValueForm = 'whole' | 'patch' | 'merged';

/** The form of the object in a field of a value. */
export function memberForm(form: ValueForm): ValueForm {
  return form === 'patch' ? 'patch' : 'whole';
}

type Members = Record<string, unknown>;

/** Whether a constraint accepts the value of a field of an object. */
type Check = (value: unknown, object: object) => boolean;

/** How one field is checked. */
interface FieldPlan {
  readonly source: FieldSource;
  readonly optional: boolean;
  readonly checks: readonly Check[];
}

/** How the objects of a class are checked. */
interface ClassPlan {
  /** Prototype of the class under which class-validator knows the rules. */
  readonly prototype: object;
  readonly fields: readonly FieldPlan[];
}

const plans = {
  whole: new WeakMap<Type<object>, ClassPlan | false>(),
  partial: new WeakMap<Type<object>, ClassPlan | false>(),
};

/**
 * Checks a value against the rules of its class, which are read once. True is certain: class-validator would
 * accept the value, too. False means that class-validator has to check: it has the messages, and handles
 * custom rules.
 */
export function accepts(type: Type<object>, value: object, form: ValueForm): boolean {
  return acceptedCopy(type, value, form) !== undefined;
}

/** A copy as validators see it; undefined if a rule rejects it, or might. */
function acceptedCopy(type: Type<object>, value: object, form: ValueForm): object | undefined {
  const plan = planOf(type, form === 'whole' ? 'whole' : 'partial');
  if (!plan) return undefined;
  const copy = Object.create(plan.prototype) as Members;
  for (const { source } of plan.fields) {
    const member = (value as Members)[source.name];
    if (member === undefined || member === null) continue;
    const copied = acceptedMember(source, member, form);
    if (copied === undefined) return undefined;
    copy[source.name] = copied;
  }
  for (const field of plan.fields) if (!acceptsField(field, copy)) return undefined;
  return copy;
}

function acceptsField({ source, optional, checks }: FieldPlan, copy: Members): boolean {
  const value = copy[source.name];
  if (value === undefined && optional) return true;
  if (value !== undefined && kindFault(source, value) !== undefined) return false;
  for (const check of checks) if (!check(value, copy)) return false;
  return true;
}

function acceptedMember(source: FieldSource, value: unknown, form: ValueForm): unknown {
  if (!source.list || !Array.isArray(value)) return acceptedEntry(source, value, memberForm(form));
  const entries: unknown[] = [];
  for (const entry of value as unknown[]) {
    const accepted = acceptedEntry(source, entry, 'whole');
    if (accepted === undefined) return undefined;
    entries.push(accepted);
  }
  return entries;
}

function acceptedEntry(source: FieldSource, value: unknown, form: ValueForm): unknown {
  if (value === undefined || value === null) return undefined;
  if (source.kind !== 'nested') return plainLeaf(source, value);
  return source.nested && isPlainObject(value) ? acceptedCopy(source.nested, value, form) : undefined;
}

function planOf(type: Type<object>, form: keyof typeof plans): ClassPlan | false {
  const known = plans[form].get(type) ?? readPlan(type, form);
  plans[form].set(type, known);
  return known;
}

/** Returns false if a rule of the class cannot be known in advance. */
function readPlan(type: Type<object>, form: keyof typeof plans): ClassPlan | false {
  const checkedType = validationClassOf(type, form);
  const prototype = checkedType.prototype as object;
  const validations = validationsOf(checkedType);
  const fields: FieldPlan[] = [];
  for (const source of sourcesOf(type)) {
    const own = validations.filter(({ propertyName }) => propertyName === source.name);
    const checks = own.filter(hasCheck).map((metadata) => checkOf(metadata, type.name));
    // A member of the prototype would be checked if the object has none.
    if (source.name in prototype || !own.every(isPlain) || !checks.every((check) => check !== undefined)) {
      return false;
    }
    fields.push({ source, optional: own.some(({ name }) => name === 'isOptional'), checks });
  }
  return fields.length > 0 && { prototype, fields };
}

/** Whether a rule always applies, or only says that the field is optional. */
function isPlain(metadata: ValidationMetadata): boolean {
  const { name, groups, validateIf } = metadata;
  // `isNotRefused` only matters for fields that are already rejected.
  const isKnown = !isConditional(metadata) || name === 'isOptional' || name === 'isNotRefused';
  return isKnown && ((groups as unknown[] | undefined) ?? []).length === 0 && validateIf === undefined;
}

/** Nested objects are checked as they are copied; `@Allow()` and conditions check nothing. */
function hasCheck(metadata: ValidationMetadata): boolean {
  return (
    metadata.type !== 'nestedValidation' &&
    metadata.type !== 'whitelistValidation' &&
    !isConditional(metadata)
  );
}

/**
 * The check of a constraint; undefined unless it comes from class-validator itself or from a field decorator.
 */
function checkOf(metadata: ValidationMetadata, targetName: string): Check | undefined {
  const { name, propertyName: property, each, constraintCls } = metadata;
  const constraints = (metadata.constraints ?? []) as unknown[];
  const [declaration] = constraints;
  if (declaration instanceof FieldDeclaration) {
    return (value) => declaration.rule.refusal(value) === undefined;
  }
  const [constraint, ...others] = getMetadataStorage().getTargetValidatorConstraints(constraintCls);
  if (!constraint || others.length > 0 || constraint.async || !isBuiltIn(name)) return undefined;
  const { instance } = constraint;
  return (value, object) => {
    const args: ValidationArguments = { targetName, property, object, value, constraints };
    // Anything but true, such as a promise, is left to class-validator.
    const takes = (one: unknown): boolean => instance.validate(one, args) === true;
    if (!each) return takes(value);
    return Array.isArray(value) ? value.every(takes) : !isCollection(value) && takes(value);
  };
}

/** Whether class-validator would look at the entries. */
function isCollection(value: unknown): boolean {
  return value instanceof Set || value instanceof Map;
}

/**
 * A sentence about a value that is not of its field's kind; undefined if it is. Plain decorators accept such
 * values: `@IsString({ each: true })` accepts a string for a list, and the store would then convert one to
 * the other.
 */
export function kindFault(field: FieldSource, value: unknown): string | undefined {
  // A field decorator has its own sentence for everything that it rejects.
  if (field.declaration) return undefined;
  const { name, list } = field;
  const entries: unknown[] = list && Array.isArray(value) ? value : [value];
  const hasMalformedText = entries.some((entry) => typeof entry === 'string' && !isWellFormed(entry));
  // Values without a class were checked when they were read.
  if (hasMalformedText && field.kind !== 'other') return fieldMessages.malformedText(name);
  if (!list) return fits(field, value) ? undefined : fieldMessages.wrongShape(name, shapeOf(field));
  if (!Array.isArray(value)) return fieldMessages.wrongShape(name, 'an array');
  if (entries.some((entry) => entry === null || entry === undefined)) return fieldMessages.nullInList(name);
  if (entries.every((entry) => fits(field, entry))) return undefined;
  return fieldMessages.wrongShape(name, `an array, each entry ${shapeOf(field)}`);
}

function shapeOf({ kind, values = [] }: FieldSource): string {
  return SHAPES[kind] ?? `one of ${values.map((value) => JSON.stringify(value)).join(', ')}`;
}

function fits({ kind, values }: FieldSource, value: unknown): boolean {
  switch (kind) {
    case 'text':
    case 'decimal':
      return typeof value === 'string';
    case 'integer':
      return Number.isInteger(value);
    case 'number':
      // JSON can write numbers that are too large for a double, such as 1e999.
      return Number.isFinite(value);
    case 'flag':
      return typeof value === 'boolean';
    case 'timestamp':
      return isTimestampDate(value);
    case 'identifier':
      return isObjectId(value);
    case 'enum':
      return values?.includes(value as string) !== false;
    case 'nested':
      return isPlainObject(value);
    case 'other':
      return true;
  }
}
