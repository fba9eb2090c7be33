import { ApiProperty } from '@nestjs/swagger';
import { Schema } from 'mongoose';
import { schemaOf } from '../../src/common/fields/index.js';
import { Note, type MisuseCases } from './misused-classes.js';

/** Shows every text in another form. */
class Masked {
  @ApiProperty()
  get text(): string {
    return '…';
  }
}

const lines = { schema: schemaOf(Note).add({ lines: [new Schema({ sku: String })] }) };

const hidden = (option: string, path: string, ...hides: string[]): MisuseCases => ({
  [`query.${option} names "${path}", which clients do not see: its values could be guessed. Leave it out.`]:
    hides.map((name) => ({
      ...lines,
      output: { from: () => ({}), hides: [name] },
      query: { [option]: [path] },
    })),
});
const undeclared = (option: string, output: unknown): MisuseCases => ({
  [`query.${option} names "text", which the function of output may hide from a caller, who could guess its values. Leave it out, or write output: { from, hides: [] } with the names of all fields that the function hides or changes.`]:
    { output, query: { [option]: ['text'] } },
});

/** Options of queries that are wrong. */
export const QUERY_CASES: MisuseCases = {
  'query must be an object. It takes filter, sort, search.': { query: [] },
  'query has no "filters". Did you mean "filter"?': { query: { filters: [] } },
  "query.filter must be a list of fields, such as ['title', 'price'].": [
    { query: { filter: 'text' } },
    { query: { filter: ['text[eq]'] } },
  ],
  'query.filter names "text" twice. Remove one.': { query: { filter: ['text', 'text'] } },
  'query.filter names "txt", which the schema does not have.': { query: { filter: ['txt'] } },
  'query.sort names "txt", which the schema does not have.': { query: { sort: ['txt'] } },
  'query.filter names "__v", which the schema does not have.': { query: { filter: ['__v'] } },
  'query.sort names "__v", which the schema does not have.': { query: { sort: ['-__v'] } },
  'query.sort names "_id", which has no order. Sort by a single value other than _id.': {
    query: { sort: ['_id'] },
  },
  "query.sort must be a list of orders, such as ['-createdAt', ['completed', 'dueAt']].": [
    ...['text', [[]], [['text', '-text']], [['text', 1]], [{}]].map((sort) => ({ query: { sort } })),
  ],
  'query.sort has "text", which serves "text", too. Remove one of them.': {
    query: { sort: ['text', 'text'] },
  },
  'query.sort has "text,-createdAt", which serves "-text,createdAt", too. Remove one of them.': {
    query: {
      sort: [
        ['text', '-createdAt'],
        ['-text', 'createdAt'],
      ],
    },
  },
  "query.search must be a list of distinct fields, such as ['title', 'description'].": [
    { query: { search: 'text' } },
    { query: { search: ['text', 'text'] } },
  ],
  'query.search names "txt", which the schema does not have.': { query: { search: ['txt'] } },
  'query.search names "deletedAt", which is no text. Search a text or a list of texts.': {
    query: { search: ['deletedAt'] },
  },
  'query.search names "inner", which is no text. Search a text or a list of texts.': {
    query: { search: ['inner'] },
  },
  ...undeclared('filter', () => ({})),
  ...undeclared('sort', (record: object, caller: object) => ({ record, caller })),
  ...undeclared('search', { type: Note, from: (record: object) => record }),
  ...hidden('filter', 'text', 'text'),
  ...hidden('sort', 'inner.a', 'inner.a'),
  ...hidden('search', 'inner.a', 'inner.a'),
  ...hidden('filter', 'inner.a', 'inner.a', 'inner'),
  ...hidden('filter', 'lines.sku', 'lines.sku'),
  ...hidden('search', 'lines', 'lines.sku'),
  'output.hides names "lines.0.sku", which the schema does not have.': {
    ...lines,
    output: { from: () => ({}), hides: ['lines.0.sku'] },
  },
  'query.sort names "text", which clients do not see: its values could be guessed. Leave it out.': {
    output: Masked,
    query: { sort: ['text'] },
  },
};
