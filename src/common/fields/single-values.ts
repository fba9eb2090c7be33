import type { Type } from '@nestjs/common';
import { Schema } from 'mongoose';
import { decoratorOf, type FieldDecorator, type ScalarOptions } from './field-rule.js';
import { enumKind, type EnumValues, KINDS } from './kinds.js';

/** One of the values of an enum, compared exactly; never coerced. */
export function IsOneOf(choices: EnumValues, options: ScalarOptions<string | number> = {}): FieldDecorator {
  const kind = enumKind(choices);
  const { values } = kind;
  const isEach = (type: string) => values.every((value) => typeof value === type);
  return decoratorOf(options, {
    ...kind,
    name: 'isOneOf',
    kind: 'enum',
    storeType: isEach('number') ? Number : isEach('string') ? String : Object,
    storeRequired: !values.includes(''),
  });
}

/** A JSON boolean; never coerced from a string or number. */
export function IsFlag(options: ScalarOptions<boolean> = {}): FieldDecorator {
  return decoratorOf(options, { ...KINDS.boolean, name: 'isFlag', kind: 'boolean', storeType: Boolean });
}

/** Options of `IsTimestamp`. */
export interface TimestampOptions extends Omit<ScalarOptions<string>, 'default'> {
  /** Stored if a create omits the field; a function is called for each record. @default none */
  default?: Date | (() => Date);
}

/** A timestamp, sent as an RFC 3339 string and stored as a `Date`. */
export function IsTimestamp(options: TimestampOptions = {}): FieldDecorator {
  return decoratorOf(options, {
    ...KINDS.timestamp,
    name: 'isTimestamp',
    kind: 'timestamp',
    storeType: Date,
  });
}

const identifier = { ...KINDS.identifier, kind: 'identifier', storeType: Schema.Types.ObjectId } as const;

/** An identifier of 24 hexadecimal digits, stored as an ObjectId. */
export function IsIdentifier(options: ScalarOptions<string> = {}): FieldDecorator {
  return decoratorOf(options, { ...identifier, name: 'isIdentifier' });
}

/** The identifier of another record. @param target returns the class of the record, so that classes can refer to each other */
export function IsReference(target: () => Type<object>, options: ScalarOptions<string> = {}): FieldDecorator {
  return decoratorOf(options, { ...identifier, name: 'isReference', reference: target });
}
