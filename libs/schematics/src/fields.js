import { namesOf, pascal } from './names.js';

/**
 * Types of a field: decorator, its options, TypeScript type, and a valid value, which is also the example.
 */
const TYPES = {
  text: { decorator: 'IsText', options: ['max: 1_000'], type: 'string', example: 'Some text' },
  texts: {
    decorator: 'IsListOf',
    entry: 'IsText',
    first: ['IsText({ min: 1, max: 100 })'],
    options: ['max: 20'],
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
 * Reads fields such as `title:text!`: a name, a type, the values of an enum (`state:open/done`) or the resource that
 * the field refers to (`post:posts`), and `!` if a create requires the field; `?` if it does not. `address.city:text` is
 * a field of an object, which a create requires if it requires one of its fields.
 *
 * @param prefix of the names of classes of objects, such as `Comment`
 * @param resources names of the resources that a field can refer to
 */
export function readFields(texts, prefix, resources) {
  const written = texts.filter((text) => text !== '');
  return membersOf((written.length > 0 ? written : ['title:text!']).map(readText), prefix, resources);
}

/** A value in an example that is the identifier of a record. */
const identifierOf = (resource) => `\0${namesOf(resource).variable}`;

function readText(text) {
  const [, path, kind = 'text', mark] = /^([a-z]\w*(?:\.[a-z]\w*)*)(?::([\w/-]+))?([!?])?$/.exec(text) ?? [];
  if (path === undefined)
    throw new Error(
      `"${text}" is not a field. Write name:type, and ! behind it if it is required, such as title:text!`,
    );
  return { path: path.split('.'), kind, required: mark === '!' };
}

function membersOf(entries, prefix, resources) {
  const names = new Set(entries.map(({ path }) => path[0]));
  return [...names].map((name) => {
    const group = entries.filter(({ path }) => path[0] === name);
    if (TAKEN.includes(name))
      throw new Error(`The service has a field "${name}" of its own. Choose another name.`);
    const inner = group.filter(({ path }) => path.length > 1);
    if (inner.length < group.length && group.length > 1)
      throw new Error(`The field "${name}" is there twice.`);
    if (inner.length === 0) return fieldOf(name, group[0], resources);
    const members = inner.map(({ path, ...entry }) => ({ ...entry, path: path.slice(1) }));
    const path = prefix + pascal(name);
    // The name of no entity and no input class.
    return objectOf(name, membersOf(members, path, resources), `${path}Fields`);
  });
}

function fieldOf(name, { kind, required }, resources) {
  const { decorator, entry = [], first = [], options, type, example, refersTo } = typeOf(kind, resources);
  const all = [
    ...(required && kind === 'text' ? ['min: 1'] : []),
    ...options,
    ...(required ? [] : ['optional: true']),
    ...(refersTo ? [] : [`example: ${JSON.stringify(example)}`]),
  ];
  const code = codeOf({ name, decorator, required, type }, [...first, ...optionsOf(all)]);
  return {
    name,
    decorators: [decorator, entry].flat(),
    required,
    example,
    code,
    classes: [],
    references: refersTo ? [[name, refersTo]] : [],
  };
}

function objectOf(name, members, type) {
  const required = members.some((member) => member.required);
  const args = [`() => ${type}`, ...optionsOf(required ? [] : ['optional: true'])];
  return {
    name,
    decorators: ['IsNested', ...members.flatMap(({ decorators }) => decorators)],
    required,
    example: Object.fromEntries(members.map((member) => [member.name, member.example])),
    code: codeOf({ name, decorator: 'IsNested', required, type }, args),
    classes: [
      ...members.flatMap(({ classes }) => classes),
      `export class ${type} {\n${members.map(({ code }) => code).join('\n\n')}\n}`,
    ],
    references: members.flatMap(({ references }) =>
      references.map(([path, resource]) => [`${name}.${path}`, resource]),
    ),
  };
}

const optionsOf = (all) => (all.length > 0 ? [`{ ${all.join(', ')} }`] : []);

function codeOf({ name, decorator, required, type }, args) {
  return `@${decorator}(${args.join(', ')})\n${name}${required ? '!' : '?'}: ${type};`;
}

/** The types of fields, as text. @param resources names of those that a field can refer to */
export function typesOf(resources) {
  const names = Object.keys(TYPES).join(', ');
  return `${names}, values such as open/done, or one of your resources: ${resources.join(', ')}`;
}

function typeOf(kind, resources) {
  if (Object.hasOwn(TYPES, kind)) return TYPES[kind];
  if (resources.includes(kind)) {
    const first = [`() => ${namesOf(kind).Singular}`];
    const example = identifierOf(kind);
    return { decorator: 'IsReference', first, options: [], type: 'string', example, refersTo: kind };
  }
  const values = kind.split('/').map((value) => `'${value}'`);
  if (values.length === 1) throw new Error(`"${kind}" is not a type. Choose one of ${typesOf(resources)}.`);
  return {
    decorator: 'IsOneOf',
    first: [`[${values.join(', ')}]`],
    options: [],
    type: values.join(' | '),
    example: kind.split('/')[0],
  };
}
