import type { Type } from '@nestjs/common';
import { errorMessages, ValidationError } from '../errors/index.js';
import { FaultList } from './fault-list.js';
import { type FieldDescription, fieldsOf } from './fields.js';
import { instantiate } from './instantiate.js';
import { isPlainObject } from './plain-object.js';
import { type ValueForm, verify } from './verify.js';

/** Options of an `InputReader`. */
export interface InputReaderOptions {
  /**
   * Names of additional fields that code, but not clients, may set. They pass through unchecked.
   *
   * @default none
   */
  extras?: readonly string[];
}

/** Options of a single call. */
export interface ReadOptions {
  /** Whether the value comes from code, which may set the reader's extras. @default false */
  extras?: boolean;
}

/**
 * Reads bodies strictly as a class describes them: only its fields, without coercing or dropping anything.
 */
export class InputReader<T extends object> {
  readonly fields: readonly FieldDescription[];
  private readonly extras: readonly string[];

  /** @param type class whose fields have field decorators or class-validator decorators */
  constructor(
    private readonly type: Type<T>,
    { extras = [] }: InputReaderOptions = {},
  ) {
    this.extras = extras;
    this.fields = fieldsOf(type);
  }

  /**
   * Reads a whole value, such as the body of a create. Null is rejected at every level. If the body omits a
   * field that the class initialises, the value has the initial value.
   *
   * @throws ValidationError that lists each fault with its JSON pointer, at most 50
   */
  async read(body: unknown, options?: ReadOptions): Promise<T> {
    return (await this.readAs('whole', body, options)) as T;
  }

  /**
   * Reads a merge patch (RFC 7396): only what was sent, in plain objects. Every field is optional, including
   * those of nested objects. Null is kept, and allowed only for fields that a whole value may omit. Lists are
   * replaced as a whole.
   *
   * @throws ValidationError that lists each fault with its JSON pointer, at most 50
   */
  async readPatch(body: unknown, options?: ReadOptions): Promise<Partial<T>> {
    return (await this.readAs('patch', body, options)) as Partial<T>;
  }

  /**
   * Checks nested values after a patch has been merged into them.
   *
   * @param values some fields of the class, each complete; members that the class does not declare are
   * ignored
   * @throws ValidationError that lists each fault with its JSON pointer, at most 50
   */
  async check(values: Partial<T>): Promise<void> {
    const faults = new FaultList();
    await verify(this.type, values, 'merged', faults);
    faults.throwIfAny();
  }

  private async readAs(
    form: ValueForm,
    body: unknown,
    { extras = false }: ReadOptions = {},
  ): Promise<object> {
    if (!isPlainObject(body)) throw new ValidationError([{ pointer: '', detail: errorMessages.notAnObject }]);
    const faults = new FaultList();
    const value = instantiate(this.type, body, {
      patch: form === 'patch',
      extras: extras ? this.extras : [],
      faults,
      at: '',
      depth: 0,
    });
    await verify(this.type, value, form, faults);
    faults.throwIfAny();
    return value;
  }
}

/**
 * Bodies that a reader has checked, and need not be checked again. A copy is another object and is checked
 * again.
 */
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
