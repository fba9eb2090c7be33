import type { BSONRegExp } from 'bson';
import { failure, failureAt, unsupported } from '../errors.js';

/** A regular expression ready to run, and the prefix that all of its matches start with. */
export interface CompiledRegex {
  test(text: string): boolean;
  /** Empty when nothing is known. */
  readonly prefix: string;
}

/** What the two dialects write differently, by its text in PCRE. Each is valid in JavaScript's `u` mode. */
const translations: Record<string, string> = {
  '\\A': '^',
  '\\z': '$',
  '\\Z': '(?=\\n?$)',
  '\\s': '[ \\t\\n\\v\\f\\r]',
  '\\S': '[^ \\t\\n\\v\\f\\r]',
  '\\h': '[ \\t\\u00a0\\u1680\\u180e\\u2000-\\u200a\\u202f\\u205f\\u3000]',
  '\\N': '[^\\n]',
  '\\R': '(?:\\r\\n|[\\n\\v\\f\\r\\x85\\u2028\\u2029])',
  '\\a': '\\x07',
  '\\e': '\\x1b',
};

/** Escapes that mean the same in both. */
const sharedEscape = /^\\(?:[dDwWbBnrtfv1-9]|x[0-9a-fA-F]{2}|k<\w+>|[pP]\{\w+\})/;
const quantifier = /^(?:[*+?]|\{\d+(?:,\d*)?\})[?+]?/;
const groupOpening =
  /^\((?:\?(?:[:=!]|<[=!]|<[A-Za-z_]\w*>|P<[A-Za-z_]\w*>|[a-z]*-[a-z]+:|[a-z]+[:)])|(?!\?|\*))/;

/**
 * Translates a regular expression of MongoDB (PCRE) into one of JavaScript with the same matches.
 *
 * @throws CommandError 51091 for a broken expression, 115 for syntax that JavaScript has no counterpart for.
 */
export function compileRegex({ pattern, options }: Pick<BSONRegExp, 'pattern' | 'options'>): CompiledRegex {
  for (const option of options) {
    if (!'imsxu'.includes(option)) throw failureAt(51108, `invalid flag in regex options: ${option}`);
  }
  if (pattern.includes('\0'))
    throw failure('BadValue', 'Regular expression cannot contain an embedded null byte');
  const inline = /^\(\?([imsx]+)\)/.exec(pattern);
  const flags = new Set(options + (inline?.[1] ?? ''));
  const source = translate(inline ? pattern.slice(inline[0].length) : pattern, flags);
  let compiled: RegExp;
  try {
    compiled = new RegExp(source, flags.has('i') ? 'iu' : 'u');
  } catch (error) {
    throw failureAt(51091, `Regular expression is invalid: ${(error as Error).message}`);
  }
  return { test: (text) => compiled.test(text), prefix: prefixOf(pattern, flags) };
}

function translate(pattern: string, flags: ReadonlySet<string>): string {
  let rest = pattern;
  let result = '';
  const take = (length: number, replacement = rest.slice(0, length)): void => {
    result += replacement;
    rest = rest.slice(length);
  };
  while (rest !== '') {
    const first = rest.charAt(0);
    const repeated = quantifier.exec(rest)?.[0];
    if (repeated) {
      if (/.\+$/.test(repeated)) throw unsupported('A possessive quantifier in a regular expression');
      take(repeated.length);
    } else if (first === '\\') {
      take(...escape(rest));
    } else if (first === '[') {
      take(...characterClass(rest));
    } else if (first === '(') {
      take(...group(rest));
    } else if (first === '.') {
      take(1, flags.has('s') ? '[\\s\\S]' : '[^\\n]');
    } else if (first === '^') {
      take(1, flags.has('m') ? '(?:^|(?<=\\n))' : '^');
    } else if (first === '$') {
      take(1, flags.has('m') ? '(?=\\n|$)' : '(?=\\n?$)');
    } else if (flags.has('x') && /\s/.test(first)) {
      take(1, '');
    } else if (flags.has('x') && first === '#') {
      take((/^#[^\n]*\n?/.exec(rest)?.[0] ?? '').length, '');
    } else {
      const character = String.fromCodePoint(rest.codePointAt(0) as number);
      take(character.length, /[{}\]/]/.test(character) ? `\\${character}` : character);
    }
  }
  return result;
}

function escape(rest: string): [number, string] {
  const text = rest.slice(0, 2);
  const known = translations[text];
  if (known) return [2, known];
  const shared = sharedEscape.exec(rest)?.[0];
  if (shared) return [shared.length, shared];
  if (text.length < 2) throw failureAt(51091, 'Regular expression is invalid: \\ at end of pattern');
  if (/\\[A-Za-z0-9]/.test(text)) throw unsupported(`${text} in a regular expression`);
  return [2, literal(text.slice(1))];
}

function literal(character: string): string {
  return /[\\^$.*+?()[\]{}|/]/.test(character) ? `\\${character}` : character;
}

/** A bracketed set; the members that JavaScript reads otherwise are escaped or spelled out. */
function characterClass(rest: string): [number, string] {
  const found = /^\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]/s.exec(rest)?.[0];
  if (!found)
    throw failureAt(51091, 'Regular expression is invalid: missing terminating ] for character class');
  const posix: Record<string, string> = {
    alpha: 'A-Za-z',
    digit: '0-9',
    alnum: 'A-Za-z0-9',
    upper: 'A-Z',
    lower: 'a-z',
    space: ' \\t\\n\\v\\f\\r',
    punct: '!-\\/:-@\\[-`\\{-~',
    xdigit: '0-9A-Fa-f',
    word: '\\w',
  };
  const opening = found.startsWith('[^') ? '[^' : '[';
  const members = found
    .slice(opening.length, -1)
    .replace(/\[:(\w+):\]|\\(.)|[[\]{}()|/]/gsu, (text, name, escaped) => {
      if (name !== undefined) {
        if (!posix[name]) throw unsupported(`[:${name}:] in a regular expression`);
        return posix[name];
      }
      if (escaped === undefined) return `\\${text}`;
      if (escaped === 's') return ' \\t\\n\\v\\f\\r';
      if (/[dDwWnrtfvbxpP]/.test(escaped)) return text;
      if (/[A-Za-z0-9]/.test(escaped)) throw unsupported(`\\${escaped} in a set of a regular expression`);
      return /[\\^$.*+?()[\]{}|/-]/.test(escaped) ? text : escaped;
    });
  return [found.length, `${opening}${members}]`];
}

function group(rest: string): [number, string] {
  const opening = groupOpening.exec(rest)?.[0];
  if (opening === undefined) throw unsupported(`The group ${rest.slice(0, 4)} in a regular expression`);
  if (/^\(\?[a-z-]*[a-z]+[:)]/.test(opening)) throw unsupported('An option inside a regular expression');
  return [opening.length, opening.replace('?P<', '?<')];
}

/** Literal characters after a leading `^`; none where an alternative or an option could make them optional. */
function prefixOf(pattern: string, flags: ReadonlySet<string>): string {
  if (flags.has('i') || flags.has('m') || flags.has('x') || pattern.includes('|')) return '';
  const found = /^(?:\^|\\A)([A-Za-z0-9 _@:;,<>="'!%&~`-]*)([*?{]?)/.exec(pattern);
  if (!found) return '';
  return found[2] ? (found[1] ?? '').slice(0, -1) : (found[1] ?? '');
}
