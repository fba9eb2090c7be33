/**
 * Regular expressions from a grammar, with every option, over strings with line breaks and letters of several scripts.
 *
 *   REFERENCE_MONGODB_URI=mongodb://127.0.0.1:27017 npm run differential:regex -w libs/embedded-mongodb -- --seed 1 --cases 3000
 */
import { BSONRegExp } from 'bson';
import { versus } from './versus.mjs';

const letters = [
  'a',
  'b',
  'A',
  'B',
  'k',
  'K',
  '\u212a',
  's',
  'S',
  '\u017f',
  'é',
  'É',
  'e',
  '\u0301',
  'ß',
  'ẞ',
  'σ',
  'ς',
  'Σ',
];
const others = [
  '0',
  '1',
  '_',
  ' ',
  '\t',
  '\n',
  '\r',
  '\v',
  '\u0085',
  '\u2028',
  '\u00a0',
  '.',
  '-',
  '[',
  ']',
  '{',
  '}',
  '/',
  '\\',
];
const rare = [
  'İ',
  'ı',
  'ǅ',
  'Ω',
  '\u2126',
  'ﬁ',
  '😀',
  '\u200d',
  '漢',
  'я',
  'Я',
  '\ufb05',
  '\ufb06',
  '\u0390',
  '\u1fd3',
  '$',
  '^',
  '|',
  '(',
  ')',
  '*',
  '+',
  '?',
  ',',
];
const escapes = [
  'd',
  'D',
  'w',
  'W',
  's',
  'S',
  'n',
  'r',
  't',
  'x41',
  'xe9',
  '.',
  '-',
  '/',
  '\\',
  '[',
  ']',
  '{',
  '(',
  '$',
  '^',
  '|',
  '*',
  ' ',
  '_',
  '"',
  'é',
];
const oddEscapes = [
  'A',
  'z',
  'Z',
  'f',
  'a',
  'e',
  'v',
  'h',
  'H',
  'V',
  'R',
  'N',
  'X',
  'K',
  'G',
  'Q',
  'E',
  'C',
  'c',
  'cA',
  '0',
  '1',
  '12',
  'x',
  'x{41}',
  'u0041',
  'p{L}',
  'P{Lu}',
  'pL',
  'k<n>',
  'g1',
  'o{101}',
  'i',
  'y',
  'l',
  'U',
];
const quantifiers = ['*', '+', '?', '*?', '+?', '??', '{2}', '{1,}', '{0,2}', '{1,2}?'];
const oddQuantifiers = [
  '{0}',
  '{0,0}',
  '*+',
  '++',
  '**',
  '{2}{2}',
  '{',
  '{,2}',
  '{ 1}',
  '{2,1}',
  '{a}',
  '{1,a}',
  '{70000}',
  '{999}',
];
const posix = ['[:alpha:]', '[:^alpha:]', '[:digit:]', '[:foo:]', '[.a.]', '[=a=]', '[:'];
const groups = ['(?:', '('];
const oddGroups = [
  '(?=',
  '(?!',
  '(?<=',
  '(?<!',
  '(?>',
  '(?i)',
  '(?i:',
  '(?-i)',
  '(?<n>',
  '(?P<n>',
  "(?'n'",
  '(?#',
  '(?|',
  '(?R)',
  '(*UCP)',
  '(?',
];

function character(random) {
  return random.weighted([
    [6, () => random.pick(letters)],
    [3, () => random.pick(others)],
    [1, () => random.pick(rare)],
  ]);
}

function subject(random) {
  const text = random.list(0, 6, () => character(random)).join('');
  return random.chance(0.25) ? `${text}\n` : text;
}

/** A pattern has one oddity at most, so that what is odd about it is compared and not hidden by another. */
function pattern(random) {
  const start = random.mistake(0.05)
    ? random.pick(['(?i)', '(?m)', '(?s)', '(?x)', '(?ims)', '(?)', '(?j)', '(*UCP)', '(*CRLF)'])
    : '';
  return start + branches(random, 2);
}

function branches(random, depth) {
  const count = random.weighted([
    [6, () => 1],
    [2, () => 2],
    [1, () => 3],
  ]);
  return Array.from({ length: count }, () => sequence(random, depth)).join('|');
}

function sequence(random, depth) {
  return random.list(random.chance(0.1) ? 0 : 1, 3, () => atom(random, depth) + quantifier(random)).join('');
}

function quantifier(random) {
  if (random.mistake(0.02)) return random.pick(oddQuantifiers);
  return random.chance(0.3) ? random.pick(quantifiers) : '';
}

function atom(random, depth) {
  if (random.mistake(0.02)) return `\\${random.pick(oddEscapes)}`;
  if (random.mistake(0.01)) return random.pick(['*', '+', '?', ')', '(', '[', '{', '{1}', '\\']);
  return random.weighted([
    [8, () => plain(random)],
    [2, () => `\\${random.pick(escapes)}`],
    [2, () => set(random)],
    [1, () => '.'],
    [2, () => assertion(random)],
    [
      depth > 0 ? 2 : 0,
      () =>
        `${random.mistake(0.05) ? random.pick(oddGroups) : random.pick(groups)}${branches(random, depth - 1)})`,
    ],
  ]);
}

/** Assertions carry a character behind them, since a quantifier on an assertion is another matter. */
function assertion(random) {
  const made = random.pick(['^', '$', '\\b', '\\B']);
  return random.mistake(0.05) ? made : made + plain(random);
}

function plain(random) {
  const made = character(random);
  return /[\\^$.|?*+()[{]/.test(made) ? `\\${made}` : made;
}

function set(random) {
  const members = random.list(1, 3, () => member(random)).join('');
  return `[${random.chance(0.3) ? '^' : ''}${random.chance(0.1) ? ']' : ''}${random.chance(0.1) ? '-' : ''}${members}${random.chance(0.1) ? '-' : ''}]`;
}

function member(random) {
  if (random.mistake(0.03))
    return random.pick([...posix, `\\${random.pick(oddEscapes)}`, 'a-\\d', '\\w-z', 'b-a', '\\b']);
  return random.weighted([
    [4, () => character(random).replace(/[\\\]^-]/, '\\$&')],
    [1, () => `\\${random.pick(escapes)}`],
    [
      2,
      () =>
        random.pick([
          'a-b',
          'A-K',
          '0-9',
          'a-z',
          'À-ÿ',
          'α-ω',
          '\\x20-\\x40',
          '!-~',
          'j-t',
          ' -\u2fff',
          '\u212a-\u212b',
        ]),
    ],
  ]);
}

function expression(random) {
  random.startCase();
  const source = pattern(random);
  const options = ['i', 'm', 's', 'x', 'u'].filter((option) =>
    random.chance(option === 'i' ? 0.35 : option > 's' ? 0.02 : 0.2),
  );
  if (random.mistake(0.01)) options.push(random.pick(['g', 'j', 'i']));
  const flags = options.sort().join('');
  // The class of the driver takes no others.
  if (random.chance(0.3) || !/^i?m?s?u?x?$/.test(flags))
    return { $regex: source, ...(flags ? { $options: flags } : {}) };
  return new BSONRegExp(source, flags);
}

/** What stands around the expression does not change what it finds. */
function filter(random) {
  const made = expression(random);
  return random.weighted([
    [8, () => ({ s: made })],
    [1, () => ({ s: { $not: made } })],
    [
      1,
      () => (made instanceof BSONRegExp ? { s: { $in: ['a', made] } } : { $or: [{ s: made }, { s: 'a' }] }),
    ],
  ]);
}

await versus('regular expressions', (random) => ({
  documents: Array.from({ length: 150 }, (_, _id) => ({ _id, s: subject(random) })),
  commands: Array.from({ length: 250 }, () => ({
    find: 'c',
    filter: filter(random),
    projection: { _id: 1 },
    batchSize: 1_000,
  })),
  leeway: () => ({ anyOrder: true }),
}));
