import { errorMessages } from '../errors/index.js';
import { type FaultList, pointerTo, shorten } from './fault-list.js';
import { fieldMessages } from './field-messages.js';
import { isPlainObject } from './plain-object.js';
import { isWellFormed } from './well-formed.js';

/** Maximum nesting of a value without a class. Unit: levels of objects and arrays. */
const MAX_DEPTH = 32;

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
export function openValueFaults(value: unknown, context: OpenContext, depth = 0): void {
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
