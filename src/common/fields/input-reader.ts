import type { Type } from '@nestjs/common';
import { errorMessages, ValidationError } from '../errors/index.js';
import { FaultList } from './fault-list.js';
import type { FieldDescription } from './field-description.js';
import { fieldsOf } from './fields-of.js';
import { instantiate } from './instantiate.js';
import { isPlainObject } from './plain-object.js';
import type { ValueForm } from './value-form.js';
import { verify } from './verify.js';

/** Options of an `InputReader`. */
export interface InputReaderOptions {
  /** Names of fields that code, not clients, may set besides. They pass through untouched. @default none */
  extras?: readonly string[];
}

/** Options of one reading. */
export interface ReadOptions {
  /** Whether the value comes from code, which may set the reader's extras. @default false */
  extras?: boolean;
}

/** Reads bodies strictly as a class describes them: only its fields, nothing coerced, nothing dropped. */
export class InputReader<T extends object> {
  readonly fields: readonly FieldDescription[];
  private readonly extras: readonly string[];

  /** @param type class whose fields carry field decorators or those of class-validator */
  constructor(
    private readonly type: Type<T>,
    { extras = [] }: InputReaderOptions = {},
  ) {
    this.extras = extras;
    this.fields = fieldsOf(type);
  }

  /**
   * Reads a whole value, such as the body of a create. Null is refused at every level. What the class initialises and
   * the body leaves out, the value has.
   *
   * @throws ValidationError that lists each fault with its JSON pointer, at most 50
   */
  async read(body: unknown, options?: ReadOptions): Promise<T> {
    return (await this.readAs('whole', body, options)) as T;
  }

  /**
   * Reads a merge patch (RFC 7396): what was sent and nothing else, in plain objects. Every field is optional, those of
   * nested objects, too; null, which stays null, is for fields that a whole value may lack. Lists are whole.
   *
   * @throws ValidationError that lists each fault with its JSON pointer, at most 50
   */
  async readPatch(body: unknown, options?: ReadOptions): Promise<Partial<T>> {
    return (await this.readAs('patch', body, options)) as Partial<T>;
  }

  /**
   * Checks nested values after a patch was merged into them.
   *
   * @param values some fields of the class, each complete; members that the class does not declare are not looked at
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
