import { fault } from '../faults.js';
import type { InvalidBody, ValidBody } from '../crud-contract.js';

/** A character outside the Basic Multilingual Plane: one code point, two UTF-16 units, four bytes. */
export const EMOJI = '🦊';

const show = (value: unknown) => JSON.stringify(value) ?? String(value);

/** Bodies with one field, each refused with the same sentence. */
export function refused(field: string, detail: string, values: readonly unknown[]): InvalidBody[] {
  return values.map((value) => ({
    name: `${field}: ${abridged(show(value))}`,
    body: { [field]: value },
    errors: [{ pointer: `/${field}`, detail }],
  }));
}

/** Bodies with one field, each stored as it was sent. */
export function kept(field: string, values: readonly unknown[]): ValidBody[] {
  return values.map((value) => ({ name: `${field}: ${abridged(show(value))}`, body: { [field]: value } }));
}

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

export const validTitles = kept('title', [
  ...[...ODD_TEXTS, 'x', 'x'.repeat(200), EMOJI.repeat(200), ' around '],
  ...[` \t\n${'x'.repeat(200)}\u3000\u00a0`, `${' '.repeat(500)}far${' '.repeat(497)}`],
  `${' '.repeat(800)}${EMOJI.repeat(200)}`,
]);

export const invalidTitles: InvalidBody[] = [
  ...refused('title', TITLE_DETAIL, [
    ...[...NOT_TEXT, '', ' ', ' \t\r\n\u3000\u00a0\ufeff', 'x'.repeat(201), EMOJI.repeat(201)],
    ...[` ${'x'.repeat(201)} `, `x${' '.repeat(199)}x`],
  ]),
  ...refused(
    'title',
    '"title" must be a string of at most 1000 characters, counting white space around it.',
    [`${' '.repeat(500)}far${' '.repeat(498)}`, `${' '.repeat(801)}${EMOJI.repeat(200)}`],
  ),
  { name: 'no title', body: {}, errors: [{ pointer: '/title', detail: TITLE_DETAIL }], createOnly: true },
  {
    name: 'title: null',
    body: { title: null },
    errors: [fault('/title', 'must not be null. Leave the field out instead.')],
    createOnly: true,
  },
];

function abridged(text: string): string {
  const printable = text.replace(/[^ -~]/gu, (character) => `<${character.codePointAt(0)?.toString(16)}>`);
  return printable.length > 60 ? `${printable.slice(0, 50)}… (${text.length} units)` : printable;
}
