import { Injectable, type PipeTransform, type Type } from '@nestjs/common';
import { PartialType } from '@nestjs/swagger';
import { plainToInstance } from 'class-transformer';
import { validate, type ValidationError as FieldError } from 'class-validator';
import { errorMessages, ValidationError, type Violation } from '../errors/index.js';
import { type InputFields, inputFieldsOf } from './input-fields.js';

/** Most faults that one answer lists; the rest follow when these are mended. */
const MAX_VIOLATIONS = 50;
/** Longest field name that an answer repeats. Unit: characters. */
const MAX_NAME = 100;

interface BodyOptions {
  /** Class with class-validator decorators that the body must satisfy. */
  type: Type<object>;
  fields: InputFields;
  /** Whether `null` removes an optional field (RFC 7396); otherwise it is refused. */
  merge: boolean;
}

/** Reads the body of a create: the input class as it is, without null. */
export function createBodyPipe(input: Type<object>): BodyPipe {
  return new BodyPipe({ type: input, fields: inputFieldsOf(input), merge: false });
}

/** Reads the body of an update: the fields of the input class, all optional; null removes one that the input may lack. */
export function updateBodyPipe(input: Type<object>): BodyPipe {
  return new BodyPipe({ type: PartialType(input), fields: inputFieldsOf(input), merge: true });
}

/** Validates a body strictly: an object of input fields alone, nothing coerced, nothing dropped. */
@Injectable()
export class BodyPipe implements PipeTransform<unknown, Promise<object>> {
  constructor(private readonly options: BodyOptions) {}

  async transform(body: unknown): Promise<object> {
    if (typeof body !== 'object' || body === null || Array.isArray(body)) {
      throw new ValidationError([{ pointer: '', detail: errorMessages.notAnObject }]);
    }
    const faults: Violation[] = [];
    const values: [string, unknown][] = [];
    const removed: [string, null][] = [];
    for (const [name, value] of Object.entries(body)) {
      const fault = this.faultOf(name, value);
      if (fault !== undefined) faults.push({ pointer: pointer(shorten(name)), detail: fault });
      else if (value === null) removed.push([name, null]);
      else values.push([name, value]);
    }
    const input = plainToInstance(this.options.type, Object.fromEntries(values));
    const refused = new Set(faults.map((fault) => ('pointer' in fault ? fault.pointer : '')));
    const fieldFaults = violationsOf(await validate(input, VALIDATOR_OPTIONS), '');
    faults.push(...fieldFaults.filter((fault) => !('pointer' in fault && refused.has(fault.pointer))));
    const [first, ...others] = faults.slice(0, MAX_VIOLATIONS);
    if (first) throw new ValidationError([first, ...others]);
    return Object.assign(input, Object.fromEntries(removed));
  }

  private faultOf(name: string, value: unknown): string | undefined {
    const { fields, merge } = this.options;
    if (!fields.all.includes(name)) return errorMessages.unknownField(shorten(name), fields.all);
    if (value !== null) return undefined;
    if (!merge) return errorMessages.nullOnCreate(name);
    return fields.required.includes(name) ? errorMessages.nullOnRequired(name) : undefined;
  }
}

const VALIDATOR_OPTIONS = {
  whitelist: true,
  forbidNonWhitelisted: true,
  forbidUnknownValues: true,
  stopAtFirstError: true,
  validationError: { target: false, value: false },
} as const;

function violationsOf(errors: readonly FieldError[], parent: string): Violation[] {
  return errors.flatMap((error) => {
    const path = parent + pointer(error.property);
    const own = Object.values(error.constraints ?? {}).map((detail) => ({ pointer: path, detail }));
    return [...own, ...violationsOf(error.children ?? [], path)];
  });
}

/** A reference token of JSON Pointer (RFC 6901, section 3). */
function pointer(name: string): string {
  return `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function shorten(name: string): string {
  return name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name;
}
