import type { FieldCase } from '../crud-contract.js';

/** A character outside the Basic Multilingual Plane: one code point, two UTF-16 units, four bytes. */
export const EMOJI = '🦊';

/** Values that are refused with the same sentence. */
export const refused = (detail: string, values: readonly unknown[]) =>
  values.map((value): FieldCase<string> => [value, detail]);

/** Values that are shown as they were sent. */
export const kept = (values: readonly unknown[]) => values.map((value): FieldCase => [value, value]);

/** What is refused wherever a string is asked for. */
export const NOT_TEXT: unknown[] = [
  ...[1, 0, true, false, ['a'], [], {}, { $ne: 1 }, { toString: 'a' }],
  ...['a\ud800', '\udc00a', '\udc00\ud800'],
];

/** What any text field keeps as it is. */
export const ODD_TEXTS = [
  ...['a\u0000b', '\u0000', '$where', 'a.b', '{"$ne":1}', '__proto__', 'constructor', 'null'],
  ...[`${EMOJI}👨‍👩‍👧 e\u0301 ﷺ \u202Eabc`, '</script>\\"\n\r\t\u2028\u2029\ufeffend'],
];

/** The cases of a title: 1 to 200 characters, not counting white space around it, at most 1,000 with it. */
const TITLE_DETAIL = '"title" must be a string of 1 to 200 characters, not counting white space around it.';

export const validTitles = kept([
  ...[...ODD_TEXTS, 'x', 'x'.repeat(200), EMOJI.repeat(200), ' around '],
  ...[` \t\n${'x'.repeat(200)}\u3000\u00a0`, `${' '.repeat(500)}far${' '.repeat(497)}`],
  `${' '.repeat(800)}${EMOJI.repeat(200)}`,
]);

export const invalidTitles = [
  ...refused(TITLE_DETAIL, [
    ...[...NOT_TEXT, '', ' ', ' \t\r\n\u3000\u00a0\ufeff', 'x'.repeat(201), EMOJI.repeat(201)],
    ...[` ${'x'.repeat(201)} `, `x${' '.repeat(199)}x`],
  ]),
  ...refused('"title" must be a string of at most 1000 characters, counting white space around it.', [
    ...[`${' '.repeat(500)}far${' '.repeat(498)}`, `${' '.repeat(801)}${EMOJI.repeat(200)}`],
  ]),
];
