import { ValidationError, type Violation } from '../errors/index.js';
import type { FieldKind } from './field-rule.js';

/** Maximum number of faults in one response. */
const MAX_FAULTS = 50;
/** Maximum length of a field name in a response. Unit: characters. */
const MAX_NAME = 100;

/** Collects the faults of a body by JSON pointer. */
export class FaultList {
  private readonly faults: Violation[] = [];
  private readonly pointers = new Set<string>();

  add(pointer: string, detail: string): void {
    if (this.faults.length >= MAX_FAULTS) return;
    this.faults.push({ pointer, detail });
    this.pointers.add(pointer);
  }

  /** Whether the list has a fault for exactly this value. */
  has(pointer: string): boolean {
    return this.pointers.has(pointer);
  }

  /** Whether further faults would not be listed. */
  get isFull(): boolean {
    return this.faults.length >= MAX_FAULTS;
  }

  /** @throws ValidationError that lists the faults, if there are any */
  throwIfAny(): void {
    const [first, ...others] = this.faults;
    if (first) throw new ValidationError([first, ...others]);
  }
}

/** Pointer to a member of an object or an entry of a list (RFC 6901, section 3). */
export function pointerTo(parent: string, name: string | number): string {
  return `${parent}/${shorten(String(name)).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** A field name, cut to the length that a response may repeat. */
export function shorten(name: string): string {
  return name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name;
}

/** Sentences about fields that no decorator's own sentence covers. */
export const fieldMessages = {
  wrongShape: (name: string, shape: string) => `"${name}" must be ${shape}.`,
  malformedText: (name: string) => `"${name}" must be well-formed Unicode, without lone surrogates.`,
  notFinite: (name: string) => `"${name}" must not hold a number beyond the range of a double.`,
  nulInName: (name: string) => `"${name}" must not hold a name with the character U+0000.`,
  nullInList: (name: string) => `"${name}" must not hold null.`,
  harmfulName: (name: string) => `"${name}" cannot be the name of a field.`,
  tooDeep: (name: string) => `"${name}" is nested too deeply.`,
  notValid: (name: string) => `"${name}" is not valid.`,
  noFields: 'The object has no fields that could be checked.',
};

/** RFC 3339 as a field's sentence describes it. */
export const TIMESTAMP_SHAPE =
  'an RFC 3339 timestamp, to the millisecond at most, such as 2026-01-31T09:00:00.000Z';

/** Noun phrases of the values of each kind. */
export const SHAPES: Readonly<Partial<Record<FieldKind, string>>> = {
  text: 'a string',
  integer: 'a whole number',
  number: 'a number',
  decimal: 'a decimal string',
  flag: 'true or false',
  timestamp: TIMESTAMP_SHAPE,
  identifier: 'an identifier of 24 hexadecimal digits',
  nested: 'an object',
};
