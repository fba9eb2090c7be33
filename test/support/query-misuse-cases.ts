import { ApiProperty } from '@nestjs/swagger';
import { Schema } from 'mongoose';
import { schemaOf } from '../../src/index.js';
import { each, type MisuseCases, nested, Note, of } from './misused-classes.js';

/** Shows every text in another form. */
class Masked {
  @ApiProperty()
  get text(): string {
    return '…';
  }
}

const lines = { schema: schemaOf(Note).add({ lines: [new Schema({ sku: String })] }) };
const hiding = (...hides: string[]) => ({ ...lines, output: { from: () => ({}), hides } });
const guessed = (path: string) =>
  ` names "${path}", which clients do not see: its values could be guessed. Leave it out.`;
const hidden = (option: string, path: string, ...hides: string[]): MisuseCases => ({
  [option + guessed(path)]: hides.map((name) => ({ ...hiding(name), ...nested(option.split('.'), [path]) })),
});
const undeclared =
  ' names "text", which the function of output may hide from a caller, who could guess its values. Leave it out, or write output: { from, hides: [] } with the names of all fields that the function hides or changes.';
const stray = (name: string) => ` names "${name}", which the schema does not have.`;
const noText = (name: string) => ` names "${name}", which is no text. Search a text or a list of texts.`;

const lid = new Schema({ colour: String, code: { type: String, select: false } }, { _id: false });
const boxed = {
  schema: schemaOf(Note).add({
    ...{ lid, lids: [lid], closed: { type: lid, select: false }, secret: { type: String, select: false } },
    ...{ tags: [String], labels: { type: Map, of: String }, anything: Schema.Types.Mixed, bytes: Buffer },
    ...{ s: { type: String, alias: 'short' }, owner: Schema.Types.ObjectId },
  }),
};
/** One sentence about each of the paths. */
const paths = (option: string, sentence: (path: string) => string, ...wrong: string[]): MisuseCases =>
  Object.fromEntries(
    wrong.map((path) => [`query.${option}${sentence(path)}`, { ...boxed, query: { [option]: [path] } }]),
  );
const SECRETS = ['secret', 'closed.colour', 'lid.code', 'lids.code'];
const noValue = (path: string) =>
  ` names "${path}", which is no single value. Filter by a text, number, timestamp, boolean, identifier or enum, or by a list of those.`;
const noOrder = (path: string) =>
  ` names "${path}", which has no order. Sort by a single value other than _id.`;
class View {
  @ApiProperty() text!: string;
}

/** Filters and orders by every other field. */
export const GOOD_QUERIES: object[] = [
  {
    ...boxed,
    query: {
      filter: '_id text tags lid.colour lids.colour s owner createdAt updatedAt'.split(' '),
      sort: ['text', 'lid.colour', 'owner', ['s', '-text']],
    },
  },
  { ...boxed, output: View, query: { filter: ['text', '_id'] } },
];

export const QUERY_CASES: MisuseCases = {
  ...of('query', {
    ' must be an object. It takes filter, sort, search.': [],
    ' has no "filters". It takes filter, sort, search.': { filters: [] },
  }),
  ...of('query.filter', {
    " must be a list of fields, such as ['title', 'price'].": each('text', ['text[eq]']),
    [stray('txt')]: ['txt'],
    [stray('__v')]: ['__v'],
  }),
  ...of('query.sort', {
    " must be a list of orders, such as ['-createdAt', ['completed', 'dueAt']].": each(
      ...['text', [[]], [['text', '-text']], [['text', 1]], [{}]],
    ),
    [stray('txt')]: ['txt'],
    [stray('__v')]: ['-__v'],
    ' names "_id", which has no order. Sort by a single value other than _id.': ['_id'],
  }),
  ...of('query.search', {
    " must be a list of fields, such as ['title', 'description'].": each('text', ['text[eq]']),
    [stray('txt')]: ['txt'],
    [noText('deletedAt')]: ['deletedAt'],
    [noText('inner')]: ['inner'],
  }),
  ...of('query.filter', { [undeclared]: ['text'] }, { output: () => ({}) }),
  ...of('query.sort', { [undeclared]: ['text'] }, { output: (_: object, caller: object) => caller }),
  ...of('query.search', { [undeclared]: ['text'] }, { output: { type: Note, from: () => ({}) } }),
  ...hidden('query.filter', 'text', 'text'),
  ...hidden('query.sort', 'inner.a', 'inner.a'),
  ...hidden('query.search', 'inner.a', 'inner.a'),
  ...hidden('query.filter', 'inner.a', 'inner.a', 'inner'),
  ...hidden('query.filter', 'lines.sku', 'lines.sku'),
  ...hidden('query.search', 'lines', 'lines.sku'),
  ...of('query.sort', { [guessed('text')]: ['text'] }, { output: Masked }),
  ...paths('filter', guessed, ...SECRETS),
  ...paths('sort', guessed, ...SECRETS),
  ...paths('search', guessed, ...SECRETS),
  ...paths('filter', noValue, 'lid', 'lids', 'labels', 'labels.x', 'anything', 'anything.x', 'bytes'),
  ...paths('sort', noOrder, 'tags', 'lids.colour', 'labels', 'lid'),
  ...paths('filter', stray, 'short', 'lid.size', 'text.length', 'lids.0.colour'),
  [`query.filter${guessed('tags')}`]: { ...boxed, output: View, query: { filter: ['tags'] } },
  'output.hides names "lines.0.sku", which the schema does not have.': hiding('lines.0.sku'),
};
