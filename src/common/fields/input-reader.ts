import type { Type } from '@nestjs/common';
import { TransformationType } from 'class-transformer';
import { validate, type ValidationError as FieldError } from 'class-validator';
import { Types } from 'mongoose';
import { errorMessages, MAX_VIOLATIONS, toPointer, ValidationError } from '../errors/index.js';
import type { FieldDescription } from './field-rule.js';
import { fieldsOf } from './fields.js';
import { isWellFormed } from './is-text.js';
import { parseTimestamp } from './kinds.js';
import { isPlainObject } from './plain-object.js';
import { partialClassOf, type ReadClass, type ReadField, wholeClassOf } from './read-class.js';

/** Maximum length of a field name in a response. Unit: characters. */
const MAX_NAME = 100;
/** Maximum nesting of classes in a body, and of objects and lists in a value without a class. Unit: levels. */
const MAX_DEPTH = 32;

/** Where a value comes from. */
export interface BodyOptions {
  /** Whether the reader's extras may be set, as code may. @default false */
  readonly extras?: boolean;
  /** Fields that the caller may not write, which errors do not name as allowed. @default none */
  readonly concealed?: readonly string[];
}

/** Reads bodies strictly as a class describes them: only its fields, without coercing or dropping anything. */
export class InputReader<T extends object> {
  readonly fields: readonly FieldDescription[];

  /** @param extras names of additional fields that code, but not clients, may set; they pass through unchecked */
  constructor(
    private readonly type: Type<T>,
    private readonly extras: readonly string[] = [],
  ) {
    this.fields = fieldsOf(type);
  }

  /** What reads the changes of a record: this reader, unless records are of several kinds. */
  of(_record: object | undefined): InputReader<T> {
    return this;
  }

  /**
   * Reads a whole value, such as the body of a create, with the initial values of the class for fields that it omits.
   * Null is rejected at every level.
   *
   * @throws ValidationError that lists each violation with its JSON pointer, at most 50
   */
  async read(body: unknown, options?: BodyOptions): Promise<T> {
    return (await this.readAs('whole', body, options)) as T;
  }

  /**
   * Reads a merge patch (RFC 7396): only what was sent, in plain objects. Null is kept, and allowed only for fields that a
   * whole value may omit.
   *
   * @throws ValidationError as {@link InputReader.read}
   */
  async readPatch(body: unknown, options?: BodyOptions): Promise<Partial<T>> {
    return (await this.readAs('patch', body, options)) as Partial<T>;
  }

  /**
   * Checks nested values after a patch has been merged into them, ignoring members that the class does not declare.
   *
   * @throws ValidationError as {@link InputReader.read}
   */
  async check(values: Partial<T>): Promise<void> {
    await this.readAs('merged', values);
  }

  private async readAs(
    mode: 'whole' | 'patch' | 'merged',
    body: unknown,
    { extras = false, concealed = [] }: BodyOptions = {},
  ): Promise<object> {
    if (!isPlainObject(body)) throw new ValidationError([{ pointer: '', detail: errorMessages.notAnObject }]);
    const violations = new ViolationList();
    const made: ReadContext['made'] = [];
    const value = readObject(this.type, body, {
      isPartial: mode !== 'whole',
      isMerged: mode === 'merged',
      extras: extras ? this.extras : [],
      concealed,
      violations,
      made,
      at: '',
      depth: 0,
    });
    for (const error of await validate(value, VALIDATOR_OPTIONS)) addErrors(error, '', violations);
    const [first, ...others] = [...violations].map(([pointer, detail]) => ({ pointer, detail }));
    if (first) throw new ValidationError([first, ...others]);
    for (const finish of made) finish();
    return value;
  }
}

const VALIDATOR_OPTIONS = {
  forbidUnknownValues: true,
  stopAtFirstError: true,
  validationError: { target: false, value: false },
} as const;

/** The first violation of each value of a body, by JSON pointer. */
class ViolationList extends Map<string, string> {
  add(pointer: string, detail: string): void {
    if (!this.isFull && !this.has(pointer)) this.set(pointer, detail);
  }

  /** Whether further violations would not be listed. */
  get isFull(): boolean {
    return this.size >= MAX_VIOLATIONS;
  }
}

/** How an object of a body is read, and its position. */
interface ReadContext {
  /** Whether members may be missing, as in a patch and in what one was merged into. */
  readonly isPartial: boolean;
  /** Whether it is a value of the store that a patch was merged into: read before, with other members beside. */
  readonly isMerged: boolean;
  /** Additional names that pass through unchecked. */
  readonly extras: readonly string[];
  readonly concealed: readonly string[];
  readonly violations: ViolationList;
  /** Gives each object that was made, of a class that class-validator knows until it is checked, its own prototype. */
  readonly made: (() => unknown)[];
  /** JSON pointer of the value. */
  readonly at: string;
  readonly depth: number;
}

/** Makes an object of a class whose validators class-validator runs, from an object of a body. Nothing is coerced. */
function readObject(type: Type<object>, body: Record<string, unknown>, context: ReadContext): object {
  const { isPartial, isMerged, extras, concealed, violations, made } = context;
  const readClass = isPartial ? partialClassOf(type) : wholeClassOf(type);
  const object = isPartial || isMerged ? readClass.empty() : fresh(readClass, extras);
  const prototype = isPartial ? Object.prototype : (type.prototype as object);
  made.push(() => Object.setPrototypeOf(object, prototype) as unknown);
  // Not Object.entries, which takes four times as long for an object with many thousand members.
  for (const name of Object.keys(body)) {
    if (violations.isFull) break;
    const value = body[name];
    if (value === undefined) continue;
    const field = readClass.fields.get(name);
    if (field) readField(object, field, value, body, context);
    else if (extras.includes(name)) put(object, name, value);
    else if (!isMerged) {
      const allowed = [...readClass.fields.keys()].filter((field) => !concealed.includes(field));
      violations.add(pointerTo(context.at, name), errorMessages.unknownField(shorten(name), allowed));
    }
  }
  return object;
}

/** A new instance with the initial values of its fields, and nothing else. */
function fresh({ type, fields }: ReadClass, extras: readonly string[]): object {
  const instance = new type();
  for (const [name, value] of Object.entries(instance)) {
    const isKept = value !== undefined && (fields.has(name) || extras.includes(name));
    if (!isKept) Reflect.deleteProperty(instance, name);
  }
  return instance;
}

/** Sets an own member, even if the prototype has a member of that name. */
function put(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
}

function readField(target: object, field: ReadField, raw: unknown, body: object, parent: ReadContext): void {
  const { name } = field.source;
  const context = { ...parent, at: pointerTo(parent.at, name) };
  const value = raw === null ? null : transformed(field, raw, body, context);
  const { violations, at } = context;
  if (value === null) {
    if (context.isMerged) return;
    if (!context.isPartial) {
      if (raw === null) violations.add(at, errorMessages.nullOnCreate(name));
    } else if (field.source.required) violations.add(at, errorMessages.nullOnRequired(name));
    else return put(target, name, null);
  } else if (value !== undefined && !violations.has(at)) {
    const violation = kindViolation(field, value);
    if (violation === undefined) return put(target, name, value);
    // Validators may throw at a value of another kind, and any at malformed text.
    violations.add(at, messageOf(field, value, body) ?? violation);
  }
  Reflect.deleteProperty(target, name);
}

function transformed(field: ReadField, raw: unknown, body: object, context: ReadContext): unknown {
  const converted = convert(field, raw, context);
  if (context.isMerged) return converted;
  const { name: key } = field.source;
  const type = TransformationType.PLAIN_TO_CLASS;
  const value = field.transforms.reduce((current, transform) => {
    try {
      return transform({ value: current, key, obj: body, type, options: {} });
    } catch {
      // The value is not one that it was written for. The validator says what is wrong with it.
      return current;
    }
  }, converted);
  if (value === converted || value === undefined || value === null) return value;
  return convert(field, value, { ...context, isMerged: true });
}

function convert(field: ReadField, raw: unknown, context: ReadContext): unknown {
  const { list, schema } = field.source;
  // Members of what a patch was merged into are whole.
  const isPartial = context.isPartial && !context.isMerged;
  if (!list || !Array.isArray(raw)) return list ? raw : convertEntry(field, raw, { ...context, isPartial });
  // One entry too many is enough to reject the list: there may be hundreds of thousands.
  const entries = raw.slice(0, (schema.maxItems ?? Infinity) + 1) as unknown[];
  return Array.from(entries, (entry, index) =>
    // A list is replaced as a whole: its entries are not patches.
    convertEntry(field, entry, { ...context, isPartial: false, at: pointerTo(context.at, index) }),
  );
}

function convertEntry({ source }: ReadField, raw: unknown, context: ReadContext): unknown {
  const { kind, nested, name } = source;
  if (kind === 'timestamp') return parseTimestamp(raw) ?? raw;
  if (kind === 'other') {
    if (!context.isMerged) openValueViolations(raw, context, name);
    return raw;
  }
  if (!nested || !isPlainObject(raw)) return plainLeaf(source, raw);
  if (context.depth < MAX_DEPTH) {
    return readObject(nested, raw, { ...context, extras: [], concealed: [], depth: context.depth + 1 });
  }
  context.violations.add(context.at, fieldMessages.tooDeep(name));
  return undefined;
}

/** A value of code or of the store in the form that bodies have: identifiers and decimals are strings. */
function plainLeaf({ kind, schema, list }: FieldDescription, value: unknown): unknown {
  if (kind === 'other') return value;
  if (value instanceof Types.ObjectId) return value.toHexString();
  if (value instanceof Types.Decimal128) return value.toString();
  const isTimestampText = kind === 'string' && (list ? schema.items : schema)?.format === 'date-time';
  return isTimestampText && value instanceof Date && !Number.isNaN(value.getTime())
    ? value.toISOString()
    : value;
}

/** Names with a special meaning for libraries that copy objects. */
const HARMFUL = new Set(['__proto__', 'constructor', 'prototype']);

/** Finds what is wrong with a value whose members no class declares: null, depth, what the store or JSON cannot hold. */
function openValueViolations(value: unknown, context: ReadContext, name: string, depth = 0): void {
  const { violations, at } = context;
  if (violations.isFull) return;
  const isLost = typeof value === 'number' && !Number.isFinite(value);
  if (isLost) return violations.add(at, fieldMessages.notFinite(name));
  const isChanged = typeof value === 'string' && !isWellFormed(value);
  if (isChanged) return violations.add(at, fieldMessages.malformedText(name));
  const isList = Array.isArray(value);
  if (!isList && !isPlainObject(value)) return;
  if (depth >= MAX_DEPTH) return violations.add(at, fieldMessages.tooDeep(name));
  const isPartial = context.isPartial && !isList;
  for (const [key, child] of isList ? (value as unknown[]).entries() : Object.entries(value)) {
    const member = String(key);
    const inside = { ...context, isPartial, at: pointerTo(at, member) };
    if (HARMFUL.has(member)) violations.add(inside.at, fieldMessages.harmfulName(member));
    // A name in BSON ends there.
    else if (member.includes('\0')) violations.add(at, fieldMessages.nulInName(name));
    else if (!isWellFormed(member)) violations.add(at, fieldMessages.malformedText(name));
    else if (child !== null || isPartial) openValueViolations(child, inside, name, depth + 1);
    else if (isList) violations.add(inside.at, fieldMessages.nullInList(name));
    else violations.add(inside.at, errorMessages.nullOnCreate(shorten(member)));
  }
}

/**
 * A message about a value that is not of its field's kind, which plain decorators may accept and the store would convert:
 * `@IsString({ each: true })` accepts a string for a list.
 */
function kindViolation({ source, valueKind }: ReadField, value: unknown): string | undefined {
  const { name, list, kind, declaration } = source;
  // A field decorator has its own message for everything that it rejects.
  if (declaration) return undefined;
  const entries: unknown[] = list && Array.isArray(value) ? value : [value];
  const hasMalformedText = entries.some((entry) => typeof entry === 'string' && !isWellFormed(entry));
  // Values without a class were checked when they were read.
  if (hasMalformedText && kind !== 'other') return fieldMessages.malformedText(name);
  const { shape, accepts } = valueKind;
  if (!list) return accepts(value) ? undefined : errorMessages.wrongType(name, shape);
  if (!Array.isArray(value)) return errorMessages.wrongType(name, 'an array');
  if (entries.some((entry) => entry === null || entry === undefined)) return fieldMessages.nullInList(name);
  return entries.every(accepts) ? undefined : errorMessages.wrongType(name, `an array, each entry ${shape}`);
}

/** What the author says of a value of another kind, with class-validator's names for its parts. */
function messageOf({ message, source }: ReadField, value: unknown, object: object): string | undefined {
  const { name: property } = source;
  if (typeof message === 'function')
    return message({ value, property, object, constraints: [], targetName: object.constructor.name });
  const shown = typeof value === 'object' ? typeof value : String(value);
  return message?.replaceAll('$property', property).replaceAll('$value', shorten(shown));
}

/** Adds what validators reject, but for values that are left out because their violation is known. */
function addErrors(
  { property, constraints = {}, children = [] }: FieldError,
  parent: string,
  violations: ViolationList,
): void {
  // An object whose class has no rules is reported without its own name.
  const at = (property as string | undefined) === undefined ? parent : pointerTo(parent, property);
  const [first] = Object.entries(constraints);
  if (first) {
    const [name, detail] = first;
    violations.add(
      at,
      name === 'unknownValue' ? fieldMessages.noFields : detail || fieldMessages.notValid(property),
    );
  }
  for (const child of children) addErrors(child, at, violations);
}

/** Pointer to a member of an object or an entry of a list. */
function pointerTo(parent: string, name: string | number): string {
  return parent + toPointer([shorten(String(name))]);
}

/** A field name, cut to the length that a response may repeat. */
export function shorten(name: string): string {
  return name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name;
}

/** Messages about fields that no decorator's own message covers. */
const fieldMessages = {
  malformedText: (name: string) => `"${name}" must be well-formed Unicode, without lone surrogates.`,
  notFinite: (name: string) => `"${name}" must not hold a number beyond the range of a double.`,
  nulInName: (name: string) => `"${name}" must not hold a name with the character U+0000.`,
  nullInList: (name: string) => `"${name}" must not hold null.`,
  harmfulName: (name: string) => `"${name}" cannot be the name of a field.`,
  tooDeep: (name: string) => `"${name}" is nested too deeply.`,
  notValid: (name: string) => `"${name}" is not valid.`,
  noFields: 'The object has no fields that could be checked.',
};

/** Bodies that a reader has checked, and need not be checked again. A copy is another object and is checked again. */
const checked = new WeakMap<object, object>();

/** Remembers that a reader has checked a body. */
export function markChecked<Body extends object>(body: Body, reader: object): Body {
  checked.set(body, reader);
  return body;
}

/** Whether this reader has checked the body. */
export function isChecked(body: unknown, reader: object): boolean {
  return typeof body === 'object' && body !== null && checked.get(body) === reader;
}
