import type { Type } from '@nestjs/common';
import { validate, type ValidationError as FieldError } from 'class-validator';
import { accepts, kindFault, memberForm, type ValueForm } from './compiled-check.js';
import { type FaultList, fieldMessages, pointerTo } from './fault-list.js';
import { type FieldSource, sourcesOf } from './field-source.js';
import { put } from './instantiate.js';
import { isPlainObject, plainLeaf } from './plain-object.js';
import { selfCheckedFieldsOf, skipField, validationClassOf } from './validation-class.js';

const VALIDATOR_OPTIONS = {
  forbidUnknownValues: true,
  stopAtFirstError: true,
  validationError: { target: false, value: false },
} as const;

/** Checks a value with the validators of a class, and adds what they reject to the faults. */
export async function verify(
  type: Type<object>,
  value: object,
  form: ValueForm,
  faults: FaultList,
): Promise<void> {
  if (faults.isEmpty && accepts(type, value, form)) return;
  await verifyByClassValidator(type, value, form, faults);
}

/** {@link verify} through class-validator itself, whose messages become the faults. */
export async function verifyByClassValidator(
  type: Type<object>,
  value: object,
  form: ValueForm,
  faults: FaultList,
): Promise<void> {
  const unnoticed = new Map<string, string>();
  const checked = checkedCopy(type, value, form, { faults, unnoticed, at: '' });
  for (const error of await validate(checked, VALIDATOR_OPTIONS)) addFaults(error, '', faults);
  for (const [at, fault] of unnoticed) if (!faults.has(at)) faults.add(at, fault);
}

interface CopyContext {
  readonly faults: FaultList;
  /**
   * Values of another kind than their field's, by pointer: faults, unless the validators reject them anyway.
   */
  readonly unnoticed: Map<string, string>;
  readonly at: string;
}

/** A copy for class-validator, which finds its rules by the class of each object. Null counts as omitted. */
function checkedCopy(type: Type<object>, value: object, form: ValueForm, context: CopyContext): object {
  const checkedType = validationClassOf(type, form === 'whole' ? 'whole' : 'partial');
  const copy = Object.create(checkedType.prototype as object) as object;
  for (const field of sourcesOf(type)) {
    const at = pointerTo(context.at, field.name);
    const member = (value as Record<string, unknown>)[field.name];
    if (member !== undefined && member !== null) {
      put(copy, field.name, checkedMember(field, member, form, { ...context, at }));
      const fault = kindFault(field, (copy as Record<string, unknown>)[field.name]);
      // Validators that do not check the type may throw at a value of another one, so they do not see it.
      const isWithheld = !selfCheckedFieldsOf(type).has(field.name);
      if (fault !== undefined && isWithheld && !context.faults.has(at)) context.faults.add(at, fault);
      else if (fault !== undefined) context.unnoticed.set(at, fault);
    }
    if (context.faults.has(at)) skipField(copy, field.name);
  }
  return copy;
}

function checkedMember(field: FieldSource, value: unknown, form: ValueForm, context: CopyContext): unknown {
  if (!field.list || !Array.isArray(value)) {
    return checkedEntry(field, value, memberForm(form), context);
  }
  return Array.from(value as unknown[], (entry, index) =>
    checkedEntry(field, entry, 'whole', { ...context, at: pointerTo(context.at, index) }),
  );
}

function checkedEntry(field: FieldSource, value: unknown, form: ValueForm, context: CopyContext): unknown {
  const { nested } = field;
  return nested && isPlainObject(value) ? checkedCopy(nested, value, form, context) : plainLeaf(field, value);
}

function addFaults(
  { property, constraints = {}, children = [] }: FieldError,
  parent: string,
  faults: FaultList,
): void {
  // An object whose class has no rules is reported without its own name.
  const at = (property as string | undefined) === undefined ? parent : pointerTo(parent, property);
  const [first] = Object.entries(constraints);
  if (first) {
    const [name, detail] = first;
    faults.add(
      at,
      name === 'unknownValue' ? fieldMessages.noFields : detail || fieldMessages.notValid(property),
    );
  }
  for (const child of children) addFaults(child, at, faults);
}
