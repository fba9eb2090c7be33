import { failureAt, unsupported } from '../errors.js';
import { caseVariants, type CodePoints, withCaseVariants } from './letter-case.js';

/** The options of a regular expression that affect how it is read. */
export interface RegexFlags {
  ignoreCase: boolean;
  multiline: boolean;
  dotAll: boolean;
}

/** A translated expression. */
export interface TranslatedRegex {
  /** For JavaScript's `u` mode, without other flags. */
  source: string;
  /** The prefix of every match, which is at the start of the text; empty if nothing is known. */
  prefix: string;
}

/** One step of a match: text that can be repeated, or an assertion, which cannot. */
interface Atom {
  source: string;
  kind: 'text' | 'assertion' | 'start';
  /** Set for a character that matches only itself. */
  literal?: string;
  /** How often the engine may have to expand it. */
  copies: number;
}

const digit: CodePoints[] = [[0x30, 0x39]];
const space: CodePoints[] = [
  [0x09, 0x0d],
  [0x20, 0x20],
];
const word: CodePoints[] = [...digit, [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]];
const sets: Readonly<Record<string, CodePoints[]>> = { d: digit, s: space, w: word };
const controls: Readonly<Record<string, number>> = { n: 0x0a, r: 0x0d, t: 0x09 };

/**
 * Maximum number of copies of one expression inside another; MongoDB rejects an expression that grows too
 * large.
 */
const maxCopies = 1_000;
const maxNesting = 100;

/**
 * Translates a regular expression of MongoDB (PCRE2) into a JavaScript one that matches the same texts.
 * Rejects everything that the two do not treat identically, and rare features: backreferences, lookaround,
 * character properties and others.
 */
export class RegexParser {
  private at = 0;
  private depth = 0;

  constructor(
    private readonly pattern: string,
    private readonly flags: RegexFlags,
  ) {}

  /** @throws CommandError 51091 for a broken expression, 115 for one that cannot be translated exactly */
  translate(): TranslatedRegex {
    const branches = this.branches();
    if (this.at < this.pattern.length) throw broken('unmatched closing parenthesis');
    return { source: sourceOf(branches), prefix: this.prefixOf(branches) };
  }

  /** The literal characters after a leading `^`; none if an alternative or an option could change them. */
  private prefixOf([branch, ...others]: Atom[][]): string {
    const [start, ...rest] = branch ?? [];
    if (others.length > 0 || start?.kind !== 'start' || this.flags.multiline || this.flags.ignoreCase)
      return '';
    const end = rest.findIndex(({ literal }) => literal === undefined);
    return rest
      .slice(0, end < 0 ? rest.length : end)
      .map(({ literal }) => literal)
      .join('');
  }

  private branches(): Atom[][] {
    if (++this.depth > maxNesting) throw unsupported('A regular expression that nests so deeply');
    const branches: Atom[][] = [[]];
    while (this.at < this.pattern.length && this.peek() !== ')') {
      if (this.peek() === '|') {
        this.at++;
        branches.push([]);
      } else {
        branches.at(-1)?.push(this.quantified(this.atom()));
      }
    }
    this.depth--;
    return branches;
  }

  private peek(): string {
    return this.pattern.charAt(this.at);
  }

  /** The next character; a surrogate pair counts as one. */
  private take(): string {
    const character = String.fromCodePoint(this.pattern.codePointAt(this.at) as number);
    this.at += character.length;
    return character;
  }

  private atom(): Atom {
    const character = this.take();
    switch (character) {
      case '\\':
        return this.escape();
      case '[':
        return text(this.set());
      case '(':
        return this.group();
      case '.':
        return text(this.flags.dotAll ? '[^]' : '[^\\n]');
      case '^':
        // No line begins after the last line break.
        return { ...assertion(this.flags.multiline ? '(?:^|(?<=\\n)(?=[^]))' : '^'), kind: 'start' };
      case '$':
        return assertion(this.flags.multiline ? '(?=\\n|$)' : '(?=\\n?$)');
      case '*':
      case '+':
      case '?':
        throw broken('quantifier does not follow a repeatable item');
      case '{':
        if (/^[\d,\s]/.test(this.peek())) throw unsupported('This use of { in a regular expression');
        return this.literal(character);
      default:
        return this.literal(character);
    }
  }

  private literal(character: string): Atom {
    const point = character.codePointAt(0) as number;
    if (!this.flags.ignoreCase) return { ...text(written(point)), literal: character };
    const variants = caseVariants(point);
    if (!variants) throw unsupported(`Ignoring the case of ${character}`);
    return variants.length === 1 ? text(written(point)) : text(`[${variants.map(written).join('')}]`);
  }

  private escape(): Atom {
    if (this.at >= this.pattern.length) throw broken('\\ at end of pattern');
    const character = this.take();
    switch (character) {
      case 'b':
      case 'B':
        return assertion(`\\${character}`);
      default: {
        const ranges = this.escapedRanges(character);
        if (Array.isArray(ranges)) return text(`[${rangesSource(ranges)}]`);
        return this.literal(String.fromCodePoint(ranges));
      }
    }
  }

  /** The meaning of an escape inside and outside a set: one character, or several. */
  private escapedRanges(character: string): number | CodePoints[] {
    const set = sets[character.toLowerCase()];
    if (set) return sets[character] ? set : complement(set);
    const control = controls[character];
    if (control !== undefined) return control;
    if (character === 'x') {
      const hex = /^[\da-fA-F]{2}/.exec(this.pattern.slice(this.at))?.[0];
      if (hex === undefined) throw unsupported('This use of \\x in a regular expression');
      this.at += 2;
      return parseInt(hex, 16);
    }
    if (/[A-Za-z0-9]/.test(character)) throw unsupported(`\\${character} in a regular expression`);
    return character.codePointAt(0) as number;
  }

  private group(): Atom {
    const opening = /^(?:\?:|(?![?*]))/.exec(this.pattern.slice(this.at))?.[0];
    if (opening === undefined) {
      throw unsupported(`The group (${this.pattern.slice(this.at, this.at + 2)}… in a regular expression`);
    }
    this.at += opening.length;
    const branches = this.branches();
    if (this.peek() !== ')') throw broken('missing closing parenthesis');
    this.at++;
    // Groups need not capture, since nothing refers to their contents.
    const copies = branches.flat().reduce((sum, each) => sum + each.copies, 1);
    return { source: `(?:${sourceOf(branches)})`, kind: 'text', copies };
  }

  private quantified(atom: Atom): Atom {
    const found = /^(?:[*+?]|\{(\d+)(?:,(\d*))?\})/.exec(this.pattern.slice(this.at));
    if (!found) return atom;
    if (atom.kind !== 'text') throw unsupported('A repeated assertion in a regular expression');
    this.at += found[0].length;
    const [least, most] = [Number(found[1] ?? 0), Number(found[2] || (found[1] ?? 0))];
    // PCRE2 may still treat the contents as an anchor.
    if (/^\{0+(?:,0+)?\}$/.test(found[0]))
      throw unsupported('A repetition of nothing in a regular expression');
    if (most < least) throw broken('numbers out of order in {} quantifier');
    const copies = atom.copies * Math.max(1, least, most);
    if (copies > maxCopies) throw unsupported('So large a repetition in a regular expression');
    const lazy = this.peek() === '?';
    if (lazy) this.at++;
    if (/^[*+?]|^\{\d/.test(this.pattern.slice(this.at)))
      throw unsupported('A quantifier behind another one in a regular expression');
    return { source: `${atom.source}${found[0]}${lazy ? '?' : ''}`, kind: 'text', copies };
  }

  /** A set in brackets, rewritten as ranges of code points, with both cases if case is ignored. */
  private set(): string {
    this.refusePosix();
    const negated = this.peek() === '^';
    if (negated) this.at++;
    const ranges: CodePoints[] = [];
    const fixed: CodePoints[] = [];
    for (let first = true; first || this.peek() !== ']'; first = false) {
      const low = this.member();
      const isRange = this.peek() === '-' && !/^-(?:\]|$)/.test(this.pattern.slice(this.at));
      if (!isRange) {
        if (typeof low === 'number') ranges.push([low, low]);
        else fixed.push(...low);
        continue;
      }
      this.at++;
      const high = this.member();
      if (typeof low !== 'number' || typeof high !== 'number')
        throw unsupported('A range from or to a set in a regular expression');
      if (high < low) throw broken('range out of order in character class');
      ranges.push([low, high]);
    }
    this.at++;
    const complete = this.flags.ignoreCase ? withCaseVariants(ranges) : ranges;
    if (!complete) throw unsupported('Ignoring the case of such a range of characters');
    return `[${negated ? '^' : ''}${rangesSource([...complete, ...fixed])}]`;
  }

  /**
   * `:…:]`, `.….]` or `=…=]` after a bracket is a POSIX class, or an error, even if the bracket opens the
   * set.
   */
  private refusePosix(): void {
    const found = /^([:.=])(?:\\[\]\\]|[^\]])*?\1\]/.exec(this.pattern.slice(this.at));
    if (found) throw unsupported(`[${found[0]} in a regular expression`);
  }

  private member(): number | CodePoints[] {
    if (this.at >= this.pattern.length) throw broken('missing terminating ] for character class');
    const character = this.take();
    if (character === '[') this.refusePosix();
    if (character !== '\\') return character.codePointAt(0) as number;
    if (this.at >= this.pattern.length) throw broken('\\ at end of pattern');
    const escaped = this.take();
    return escaped === 'b' ? 0x08 : this.escapedRanges(escaped);
  }
}

function text(source: string): Atom {
  return { source, kind: 'text', copies: 1 };
}

function assertion(source: string): Atom {
  return { source, kind: 'assertion', copies: 1 };
}

function sourceOf(branches: readonly Atom[][]): string {
  return branches.map((atoms) => atoms.map(({ source }) => source).join('')).join('|');
}

/** A character that matches itself, inside and outside a set. */
function written(point: number): string {
  return `\\u{${point.toString(16)}}`;
}

function rangesSource(ranges: readonly CodePoints[]): string {
  return ranges
    .map(([low, high]) => (low === high ? written(low) : `${written(low)}-${written(high)}`))
    .join('');
}

function complement(ranges: readonly CodePoints[]): CodePoints[] {
  const result: CodePoints[] = [];
  let next = 0;
  for (const [low, high] of [...ranges].sort(([a], [b]) => a - b)) {
    if (low > next) result.push([next, low - 1]);
    next = high + 1;
  }
  return [...result, [next, 0x10ffff]];
}

function broken(reason: string): Error {
  return failureAt(51091, `Regular expression is invalid: ${reason}`);
}
