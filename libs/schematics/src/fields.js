/**
 * Types of a field: decorator, its options, TypeScript type, and a valid value, which is also the example.
 */
const TYPES = {
  text: { decorator: 'IsText', options: ['max: 1_000'], type: 'string', example: 'Some text' },
  texts: {
    decorator: 'IsTextList',
    options: ['maxEntries: 20', 'entry: { min: 1, max: 100 }'],
    type: 'string[]',
    example: ['one', 'two'],
  },
  integer: { decorator: 'IsWholeNumber', options: [], type: 'number', example: 3 },
  number: { decorator: 'IsNumber', options: [], type: 'number', example: 1.5 },
  decimal: { decorator: 'IsDecimal', options: ['scale: 2'], type: 'string', example: '12.50' },
  boolean: { decorator: 'IsFlag', options: [], type: 'boolean', example: true },
  timestamp: { decorator: 'IsTimestamp', options: [], type: 'Date', example: '2026-12-31T12:00:00.000Z' },
};

/** Names that the service uses itself. */
const TAKEN = ['_id', 'createdAt', 'updatedAt', 'constructor', '__proto__'];

/**
 * Reads fields such as `title:text!`: a name, a type or the values of an enum (`state:open/done`), and `!` if a create
 * requires the field; `?` if it does not.
 */
export function readFields(texts) {
  const fields = texts.filter((text) => text !== '').map(readField);
  const repeated = fields.find(({ name }, i) => fields.findIndex((other) => other.name === name) !== i);
  if (repeated) throw new Error(`The field "${repeated.name}" is there twice.`);
  return fields.length > 0 ? fields : [readField('title:text!')];
}

function readField(text) {
  const [, name, kind = 'text', mark] = /^([a-z]\w*)(?::([\w/-]+))?([!?])?$/.exec(text) ?? [];
  if (name === undefined)
    throw new Error(
      `"${text}" is not a field. Write name:type, and ! behind it if it is required, such as title:text!`,
    );
  if (TAKEN.includes(name))
    throw new Error(`The service has a field "${name}" of its own. Choose another name.`);
  const { decorator, values, options, type, example } = typeOf(kind);
  const required = mark === '!';
  const least = required && kind === 'text' ? ['min: 1'] : [];
  const all = [
    ...least,
    ...options,
    ...(required ? [] : ['optional: true']),
    `example: ${JSON.stringify(example)}`,
  ];
  return {
    name,
    decorator,
    required,
    example,
    code: `@${decorator}(${values ?? ''}{ ${all.join(', ')} })\n${name}${required ? '!' : '?'}: ${type};`,
  };
}

function typeOf(kind) {
  if (Object.hasOwn(TYPES, kind)) return TYPES[kind];
  const values = kind.split('/').map((value) => `'${value}'`);
  if (values.length === 1)
    throw new Error(
      `"${kind}" is not a type. Choose one of ${Object.keys(TYPES).join(', ')}, or values such as open/done.`,
    );
  return {
    decorator: 'IsOneOf',
    values: `[${values.join(', ')}], `,
    options: [],
    type: values.join(' | '),
    example: kind.split('/')[0],
  };
}
