import {
  decoratorOf,
  type FieldDecorator,
  type FieldOptions,
  type FieldRule,
  type ScalarOptions,
} from './field-rule.js';
import type { JsonSchema } from './json-schema.js';
import { listRule } from './nested.js';

/** Bounds of a string. Unit of the lengths: characters (Unicode code points). */
export interface TextBounds {
  /** @default 0 */
  min?: number;
  max: number;
  /**
   * Whether leading and trailing white space counts towards the length. The text is stored as sent either
   * way.
   *
   * @default true
   */
  countsOuterSpace?: boolean;
  /**
   * Maximum length including leading and trailing white space, which `max` may not count.
   *
   * @default unlimited
   */
  maxTotal?: number;
}

/** Options of `IsText`. */
export interface TextOptions extends TextBounds, ScalarOptions<string> {}

/** A string of well-formed Unicode within its bounds; never coerced. */
export function IsText(options: TextOptions): FieldDecorator {
  return decoratorOf(textRule(options), options);
}

/** The rule of a text. */
function textRule(bounds: TextBounds): FieldRule {
  const shape = textShape(bounds);
  return {
    name: 'isText',
    kind: 'string',
    list: false,
    shape,
    rejection: (value) => textRejection(value, bounds),
    schema: { type: 'string', ...textSchema(bounds) },
    storeType: String,
    storeRequired: (bounds.min ?? 0) > 0,
  };
}

function textRejection(value: unknown, bounds: TextBounds): string | undefined {
  const { min = 0, max, countsOuterSpace = true, maxTotal = Infinity } = bounds;
  if (typeof value !== 'string' || !isWellFormed(value)) return textShape(bounds);
  const length = lengthOf(countsOuterSpace ? value : value.trim());
  if (length < min || length > max) return textShape(bounds);
  if (lengthOf(value) <= maxTotal) return undefined;
  return `a string of at most ${maxTotal} characters, counting white space around it`;
}

function textShape({ min = 0, max, countsOuterSpace = true }: TextBounds): string {
  const bounds = min > 0 ? `${min} to ${max}` : `at most ${max}`;
  return `a string of ${bounds} characters${countsOuterSpace ? '' : ', not counting white space around it'}`;
}

function textSchema({ min = 0, max, countsOuterSpace = true, maxTotal }: TextBounds): JsonSchema {
  const minLength = min > 0 ? { minLength: min } : {};
  if (countsOuterSpace) return { ...minLength, maxLength: Math.min(max, maxTotal ?? max) };
  return {
    ...minLength,
    ...(maxTotal !== undefined && { maxLength: maxTotal }),
    pattern: trimmedPattern(min, max),
  };
}

/** Matches texts of `min` to `max` characters between white space, for readers that count as JavaScript does. */
function trimmedPattern(min: number, max: number): string {
  const longer = max > 1 ? `(?:[\\s\\S]{${Math.max(min - 2, 0)},${max - 2}}\\S)` : '';
  const text = `\\S${longer}${longer !== '' && min < 2 ? '?' : ''}`;
  return min > 0 ? `^\\s*${text}\\s*$` : `^\\s*(?:${text})?\\s*$`;
}

function lengthOf(value: string): number {
  // There are never fewer code units than code points: the slow way is only for texts with characters of two
  // units.
  return /[\ud800-\udfff]/.test(value) ? [...value].length : value.length;
}

/** Options of `IsTextList`. */
export interface TextListOptions extends FieldOptions<string[]> {
  /** Maximum number of entries. */
  maxEntries: number;
  /** Minimum number of entries. @default 0 */
  minEntries?: number;
  /** Bounds of each entry. */
  entry: TextBounds;
}

/** An array of strings; never coerced. */
export function IsTextList(options: TextListOptions): FieldDecorator {
  const { minEntries: min, maxEntries: max, entry } = options;
  return decoratorOf(listRule('isTextList', textRule(entry), { min, max }), options);
}

/** Whether a text is well-formed Unicode. A lone surrogate has no UTF-8 form: another character would be stored. */
export function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}
