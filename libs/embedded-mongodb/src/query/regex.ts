import type { BSONRegExp } from 'bson';
import { badValue, failureAt, unsupported } from '../errors.js';
import { RegexParser } from './regex-parser.js';

/** A regular expression that is ready to run, and the common prefix of its matches. */
export interface CompiledRegex {
  test(text: string): boolean;
  /** Empty if nothing is known. */
  readonly prefix: string;
}

/** @throws CommandError 51108 for an option that does not exist */
export function checkOptions(options: string): void {
  for (const option of options) {
    if (!'imsxu'.includes(option)) throw failureAt(51108, `invalid flag in regex options: ${option}`);
  }
}

/** Maximum length of a pattern. Unit: bytes. */
const maxPatternBytes = 32_764;

/**
 * Compiles a regular expression of MongoDB (PCRE2).
 *
 * @throws CommandError 51091 for a broken expression, 115 for one that JavaScript cannot run with the same result.
 * @see https://www.mongodb.com/docs/manual/reference/operator/query/regex/
 */
export function compileRegex({ pattern, options }: Pick<BSONRegExp, 'pattern' | 'options'>): CompiledRegex {
  checkOptions(options);
  if (pattern.includes('\0')) throw badValue('Regular expression cannot contain an embedded null byte');
  if (Buffer.byteLength(pattern) > maxPatternBytes) throw unsupported('So long a regular expression');
  if (options.includes('x')) throw unsupported('The option x of a regular expression');
  const parser = new RegexParser(pattern, {
    ignoreCase: options.includes('i'),
    multiline: options.includes('m'),
    dotAll: options.includes('s'),
  });
  const { source, prefix } = parser.translate();
  const compiled = new RegExp(source, 'gu');
  return { test: (text) => findsIn(compiled, text), prefix };
}

/** V8 also finds empty matches inside a surrogate pair, where no character begins. */
function findsIn(expression: RegExp, text: string): boolean {
  expression.lastIndex = 0;
  for (let found = expression.exec(text); found; found = expression.exec(text)) {
    if (!splitsPair(text, found.index)) return true;
    expression.lastIndex = found.index + 1;
  }
  return false;
}

function splitsPair(text: string, index: number): boolean {
  const isHigh = (text.charCodeAt(index - 1) & 0xfc00) === 0xd800;
  return isHigh && (text.charCodeAt(index) & 0xfc00) === 0xdc00;
}
