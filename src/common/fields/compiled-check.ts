import type { Type } from '@nestjs/common';
import { getMetadataStorage, type ValidationArguments } from 'class-validator';
import type { ValidationMetadata } from 'class-validator/types/metadata/ValidationMetadata.js';
import { FieldDeclaration } from './field-rule.js';
import { type FieldSource, sourcesOf } from './field-source.js';
import { kindFault } from './kind-fault.js';
import { isConditional, validationsOf } from './metadata.js';
import { plainLeaf } from './plain-leaf.js';
import { isPlainObject } from './plain-object.js';
import { isBuiltIn } from './plain-rules.js';
import { validationClassOf } from './validation-class.js';
import { memberForm, type ValueForm } from './value-form.js';

type Members = Record<string, unknown>;

/** Whether one constraint takes the value of a field of an object. */
type Check = (value: unknown, object: object) => boolean;

/** How one field is checked. */
interface FieldPlan {
  readonly source: FieldSource;
  readonly optional: boolean;
  readonly checks: readonly Check[];
}

/** How the objects of a class are checked. */
interface ClassPlan {
  /** Prototype of the class that class-validator knows the rules by. */
  readonly prototype: object;
  readonly fields: readonly FieldPlan[];
}

const plans = {
  whole: new WeakMap<Type<object>, ClassPlan | false>(),
  partial: new WeakMap<Type<object>, ClassPlan | false>(),
};

/**
 * Checks a value by the rules of its class, which are read once. Yes is certain: class-validator would accept it, too. No means
 * that class-validator has to look, which knows the sentences, and every rule that is not its own or a field decorator's.
 */
export function accepts(type: Type<object>, value: object, form: ValueForm): boolean {
  return acceptedCopy(type, value, form) !== undefined;
}

/** A copy as validators see it; undefined if a rule does not accept it, or might not. */
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

/** False if a rule of the class cannot be known beforehand. */
function readPlan(type: Type<object>, form: keyof typeof plans): ClassPlan | false {
  const checkedType = validationClassOf(type, form);
  const prototype = checkedType.prototype as object;
  const validations = validationsOf(checkedType);
  const fields: FieldPlan[] = [];
  for (const source of sourcesOf(type)) {
    const own = validations.filter(({ propertyName }) => propertyName === source.name);
    const checks = own.filter(hasCheck).map((metadata) => checkOf(metadata, type.name));
    // A member of the prototype would be checked where the object has none.
    if (source.name in prototype || !own.every(isPlain) || !checks.every((check) => check !== undefined)) {
      return false;
    }
    fields.push({ source, optional: own.some(({ name }) => name === 'isOptional'), checks });
  }
  return fields.length > 0 && { prototype, fields };
}

/** Whether it holds at all times, or says that the field is optional. */
function isPlain(metadata: ValidationMetadata): boolean {
  const { name, groups, validateIf } = metadata;
  // Of a field that is refused already there is no question here.
  const isKnown = !isConditional(metadata) || name === 'isOptional' || name === 'isNotRefused';
  return isKnown && ((groups as unknown[] | undefined) ?? []).length === 0 && validateIf === undefined;
}

/** Nested objects are checked as they are copied, and of `@Allow()` and conditions there is nothing to check. */
function hasCheck(metadata: ValidationMetadata): boolean {
  return (
    metadata.type !== 'nestedValidation' &&
    metadata.type !== 'whitelistValidation' &&
    !isConditional(metadata)
  );
}

/** The check of a constraint; undefined if it is not one of class-validator's own or of a field decorator. */
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
    // Anything but true, such as a promise, is for class-validator to judge.
    const takes = (one: unknown): boolean => instance.validate(one, args) === true;
    if (!each) return takes(value);
    return Array.isArray(value) ? value.every(takes) : !isCollection(value) && takes(value);
  };
}

/** Whether class-validator would look at the entries. */
function isCollection(value: unknown): boolean {
  return value instanceof Set || value instanceof Map;
}
