import type { FieldKind } from './field-rule.js';

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
