import type { Type } from '@nestjs/common';
import { TransformationType } from 'class-transformer';
import { defaultMetadataStorage } from 'class-transformer/cjs/storage.js';
import { errorMessages } from '../errors/index.js';
import { type FaultList, fieldMessages, pointerTo, shorten } from './fault-list.js';
import { type FieldSource, sourcesOf } from './field-source.js';
import { isWellFormed } from './is-text.js';
import { isPlainObject, plainLeaf } from './plain-object.js';
import { parseTimestamp } from './timestamps.js';

/** Maximum nesting of classes in a body, and of objects and lists in a value without a class. Unit: levels. */
const MAX_DEPTH = 32;

/** How an object of a body is read, and its position. */
export interface ReadContext {
  /** Whether it is a merge patch: initialisers do not run, and null removes an optional field. */
  readonly patch: boolean;
  /** Additional names that pass through unchecked. */
  readonly extras: readonly string[];
  readonly faults: FaultList;
  /** JSON pointer of the object. */
  readonly at: string;
  readonly depth: number;
}

interface FieldPlan {
  readonly source: FieldSource;
  readonly transforms: readonly ((params: object) => unknown)[];
}

const plans = new WeakMap<Type<object>, ReadonlyMap<string, FieldPlan>>();

/**
 * Makes an instance of a class from an object of a body, or a plain object from a merge patch. Nothing is
 * coerced.
 */
export function instantiate(
  type: Type<object>,
  body: Record<string, unknown>,
  context: ReadContext,
): Record<string, unknown> {
  const plan = planOf(type);
  const target = context.patch ? {} : freshInstance(type, plan, context.extras);
  // Not Object.entries, which takes four times as long for an object with many thousand members.
  for (const name of Object.keys(body)) {
    if (context.faults.isFull) break;
    const value = body[name];
    if (value === undefined) continue;
    const field = plan.get(name);
    if (field) readField(target, field, value, body, context);
    else if (context.extras.includes(name)) put(target, name, value);
    else {
      const detail = errorMessages.unknownField(shorten(name), [...plan.keys()]);
      context.faults.add(pointerTo(context.at, name), detail);
    }
  }
  return target;
}

/** Sets an own member, even if the prototype has a member of that name. */
export function put(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
}

function planOf(type: Type<object>): ReadonlyMap<string, FieldPlan> {
  const known = plans.get(type);
  if (known) return known;
  const plan = new Map(
    sourcesOf(type).map((source): [string, FieldPlan] => {
      const found = defaultMetadataStorage.findTransformMetadatas(
        type,
        source.name,
        TransformationType.PLAIN_TO_CLASS,
      );
      return [source.name, { source, transforms: found.map(({ transformFn }) => transformFn) }];
    }),
  );
  plans.set(type, plan);
  return plan;
}

/** A new instance of the class with the initial values of its fields, and nothing else. */
function freshInstance(
  type: Type<object>,
  plan: ReadonlyMap<string, unknown>,
  extras: readonly string[],
): Record<string, unknown> {
  const instance = new type() as Record<string, unknown>;
  for (const [name, value] of Object.entries(instance)) {
    const isKept = value !== undefined && (plan.has(name) || extras.includes(name));
    if (!isKept) Reflect.deleteProperty(instance, name);
  }
  return instance;
}

function readField(
  target: object,
  { source, transforms }: FieldPlan,
  raw: unknown,
  body: object,
  context: ReadContext,
): void {
  const { name, required } = source;
  const pointer = pointerTo(context.at, name);
  const refuseNull = () => context.faults.add(pointer, errorMessages.nullOnRequired(name));
  if (raw === null) {
    if (!context.patch) context.faults.add(pointer, errorMessages.nullOnCreate(name));
    else if (required) refuseNull();
    else put(target, name, null);
    return;
  }
  const converted = convert(source, raw, { ...context, at: pointer });
  const value = transforms.reduce((current, transform) => {
    try {
      return transform({
        value: current,
        key: name,
        obj: body,
        type: TransformationType.PLAIN_TO_CLASS,
        options: {},
      });
    } catch {
      // The value is not one that it was written for. The validator says what is wrong with it.
      return current;
    }
  }, converted);
  if (value === null && context.patch && required) refuseNull();
  else if (value !== undefined && (value !== null || context.patch)) put(target, name, value);
  else Reflect.deleteProperty(target, name);
}

function convert(source: FieldSource, raw: unknown, context: ReadContext): unknown {
  if (!source.list) return convertEntry(source, raw, context);
  if (!Array.isArray(raw)) return raw;
  // One entry too many is enough to reject the list: there may be hundreds of thousands.
  const entries = raw.slice(0, (source.schema.maxItems ?? Infinity) + 1) as unknown[];
  return Array.from(entries, (entry, index) =>
    // A list is replaced as a whole: its entries are not patches.
    convertEntry(source, entry, { ...context, patch: false, at: pointerTo(context.at, index) }),
  );
}

function convertEntry(source: FieldSource, raw: unknown, context: ReadContext): unknown {
  const { kind, nested, name } = source;
  if (kind === 'timestamp') return parseTimestamp(raw) ?? raw;
  if (kind === 'other') {
    openValueFaults(raw, { ...context, name });
    return raw;
  }
  if (!nested || !isPlainObject(raw)) return plainLeaf(source, raw);
  if (context.depth < MAX_DEPTH) {
    return instantiate(nested, raw, { ...context, extras: [], depth: context.depth + 1 });
  }
  context.faults.add(context.at, fieldMessages.tooDeep(name));
  return undefined;
}

/** Names with a special meaning for libraries that copy objects. */
const HARMFUL = new Set(['__proto__', 'constructor', 'prototype']);

interface OpenContext {
  /** Name of the field, for sentences. */
  readonly name: string;
  /** Whether null removes a member of an object. */
  readonly patch: boolean;
  readonly faults: FaultList;
  readonly at: string;
}

/**
 * Searches a value whose members no class declares for null, for values that the store or JSON cannot hold,
 * and for harmful names, and checks its depth.
 */
function openValueFaults(value: unknown, context: OpenContext, depth = 0): void {
  const { faults, name, at, patch } = context;
  if (faults.isFull) return;
  const isLost = typeof value === 'number' && !Number.isFinite(value);
  if (isLost) return faults.add(at, fieldMessages.notFinite(name));
  const isChanged = typeof value === 'string' && !isWellFormed(value);
  if (isChanged) return faults.add(at, fieldMessages.malformedText(name));
  if (typeof value !== 'object' || value === null) return;
  if (depth >= MAX_DEPTH) return faults.add(at, fieldMessages.tooDeep(name));
  if (Array.isArray(value)) {
    Array.from(value as unknown[]).forEach((entry, index) => {
      const inside = { ...context, patch: false, at: pointerTo(at, index) };
      if (entry === null) faults.add(inside.at, fieldMessages.nullInList(name));
      else openValueFaults(entry, inside, depth + 1);
    });
  } else if (isPlainObject(value)) {
    for (const [member, child] of Object.entries(value)) {
      const inside = { ...context, at: pointerTo(at, member) };
      if (HARMFUL.has(member)) faults.add(inside.at, fieldMessages.harmfulName(member));
      // A name in BSON ends there.
      else if (member.includes('\0')) faults.add(at, fieldMessages.nulInName(name));
      else if (!isWellFormed(member)) faults.add(at, fieldMessages.malformedText(name));
      else if (child === null && !patch) faults.add(inside.at, errorMessages.nullOnCreate(shorten(member)));
      else openValueFaults(child, inside, depth + 1);
    }
  }
}
