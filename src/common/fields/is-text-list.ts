import { decoratorOf, type FieldDecorator, type FieldOptions } from './field-rule.js';
import { listRule } from './is-list-of.js';
import { type TextBounds, textRule } from './is-text.js';

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
