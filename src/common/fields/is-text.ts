import { decoratorOf, type FieldDecorator, type ScalarOptions } from './field-rule.js';
import type { JsonSchema } from './json-schema.js';

/** Options of `IsText`. Unit of the lengths: characters (Unicode code points). */
export interface TextOptions extends ScalarOptions<string> {
  /** @default 0 */
  min?: number;
  max: number;
  /** Whether white space around the text counts towards its length. It is stored as sent. @default true */
  countsOuterSpace?: boolean;
  /** Maximum length including white space around it, which `max` may not count. @default unlimited */
  maxTotal?: number;
}

/** A string of well-formed Unicode within its bounds; never coerced. */
export function IsText(options: TextOptions): FieldDecorator {
  const { min = 0, max, countsOuterSpace = true, maxTotal = Infinity } = options;
  const bounds = min > 0 ? `${min} to ${max}` : `at most ${max}`;
  const shape = `a string of ${bounds} characters${countsOuterSpace ? '' : ', not counting white space around it'}`;
  const hasShape = (value: unknown): value is string => {
    if (typeof value !== 'string' || !isWellFormed(value)) return false;
    const length = lengthOf(countsOuterSpace ? value : value.trim());
    return length >= min && length <= max;
  };
  const total = `a string of at most ${maxTotal} characters, counting white space around it`;
  return decoratorOf(options, {
    name: 'isText',
    kind: 'string',
    shape,
    accepts: (value) => hasShape(value) && lengthOf(value) <= maxTotal,
    shapeFor: (value) => (hasShape(value) ? total : shape),
    schema: { type: 'string', ...textSchema(options) },
    storeType: String,
    storeRequired: min > 0,
  });
}

function textSchema({ min = 0, max, countsOuterSpace = true, maxTotal }: TextOptions): JsonSchema {
  const minLength = min > 0 ? { minLength: min } : {};
  if (countsOuterSpace) return { ...minLength, maxLength: Math.min(max, maxTotal ?? max) };
  return {
    ...minLength,
    ...(maxTotal !== undefined && { maxLength: maxTotal }),
    pattern: trimmedPattern(min, max),
  };
}

/** Matches texts of `min` to `max` characters between white space. */
function trimmedPattern(min: number, max: number): string {
  const longer = max > 1 ? `(?:[\\s\\S]{${Math.max(min - 2, 0)},${max - 2}}\\S)` : '';
  const text = `\\S${longer}${longer !== '' && min < 2 ? '?' : ''}`;
  return min > 0 ? `^\\s*${text}\\s*$` : `^\\s*(?:${text})?\\s*$`;
}

function lengthOf(value: string): number {
  // The slow way is only for texts with characters of two code units.
  return /[\ud800-\udfff]/.test(value) ? [...value].length : value.length;
}

/** Whether a text is well-formed Unicode. A lone surrogate has no UTF-8 form: another character would be stored. */
export function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}
