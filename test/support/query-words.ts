/** Kinds of values, each with the operators that the grammar of queries gives it. */
export const OPERATORS = {
  string: ['eq', 'ne', 'in', 'nin', 'exists', 'contains', 'startsWith'],
  number: ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'exists'],
  timestamp: ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'exists'],
  boolean: ['eq', 'ne', 'exists'],
  identifier: ['eq', 'ne', 'in', 'nin', 'exists'],
  enum: ['eq', 'ne', 'in', 'nin', 'exists'],
} as const;

export const takesList = (operator: string) => operator === 'in' || operator === 'nin';

/** The values of an operator that takes a list, in a URL. */
export const listed = (texts: readonly string[]) =>
  texts.map((text) => text.replace(/[\\,]/g, '\\$&')).join();

/** A key of an order in the other direction. */
export const reverseOf = (key: string) => (key.startsWith('-') ? key.slice(1) : `-${key}`);
