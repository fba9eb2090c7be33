import type { Type } from '@nestjs/common';
import { ValidationError } from '../errors/index.js';
import type { FieldDescription } from './field-rule.js';
import { InputReader } from './input-reader.js';
import type { FieldKind } from './kinds.js';

/** A number as JSON writes it (RFC 8259, section 6), with leading zeros. */
const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** What a text means for a field of a kind; itself if it means nothing, which the validators then reject. */
const MEANINGS: Readonly<Partial<Record<FieldKind, (text: string, field: FieldDescription) => unknown>>> = {
  integer: (text) => (NUMBER.test(text) ? Number(text) : text),
  number: (text) => (NUMBER.test(text) ? Number(text) : text),
  boolean: (text) => (text === 'true' || text === 'false' ? text === 'true' : text),
  enum: (text, { values = [] }) => values.find((value) => String(value) === text) ?? text,
};

/** Reads named texts, such as the parameters of a query or headers, into a class, as strictly as a body. */
export class TextReader<T extends object> {
  private readonly reader: InputReader<T>;

  /** @param isSpaced whether there may be spaces around the commas of a list, as in a header (RFC 9110, section 5.6.1) */
  constructor(
    type: Type<T>,
    private readonly isSpaced = false,
  ) {
    this.reader = new InputReader(type);
  }

  /** @param textOf the text that was sent under a name. @throws ValidationError that lists each violation with its name */
  async read(textOf: (name: string) => string | undefined): Promise<T> {
    const values = this.reader.fields.flatMap((field) => {
      const text = textOf(field.name);
      return text === undefined ? [] : [[field.name, valueOf(field, text, this.isSpaced)] as const];
    });
    try {
      return await this.reader.read(Object.fromEntries(values));
    } catch (error) {
      throw error instanceof ValidationError ? named(error) : error;
    }
  }
}

function valueOf(field: FieldDescription, text: string, isSpaced: boolean): unknown {
  const meaning = MEANINGS[field.kind] ?? ((one: string) => one);
  if (!field.list) return meaning(text, field);
  return splitList(text).map((one) => meaning(isSpaced ? one.trim() : one, field));
}

/** The same violations, with the name of each text in place of the pointer to its value. */
function named({ errors }: ValidationError): ValidationError {
  const [first, ...others] = errors.map((violation) => {
    const [, parameter = ''] = 'pointer' in violation ? violation.pointer.split('/') : [];
    return { parameter, detail: violation.detail };
  });
  return new ValidationError([first as { parameter: string; detail: string }, ...others]);
}

/** Splits at commas. `\,` is a comma inside a value, and `\\` is a backslash. */
export function splitList(text: string): string[] {
  const values = [''];
  for (const [part] of text.matchAll(/\\[\\,]|,|[^\\,]+|\\/g)) {
    if (part === ',') values.push('');
    else values[values.length - 1] += part.length === 2 && part.startsWith('\\') ? part.slice(1) : part;
  }
  return values;
}
