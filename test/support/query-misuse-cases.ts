import { ApiProperty } from '@nestjs/swagger';
import { Schema } from 'mongoose';
import { schemaOf } from '../../src/common/fields/index.js';
import { Note } from './misused-classes.js';

/** Shows every text in another form. */
class Masked {
  @ApiProperty()
  get text(): string {
    return '…';
  }
}

const lines = { schema: schemaOf(Note).add({ lines: [new Schema({ sku: String })] }) };

/** Options of queries that are wrong, in the form of `CASES`. */
export const QUERY_CASES: readonly (readonly [object, string])[] = [
  [{ query: [] }, 'query must be an object. It takes filter, sort, search.'],
  [{ query: { filters: [] } }, 'query has no "filters". Did you mean "filter"?'],
  [{ query: { filter: 'text' } }, "query.filter must be a list of fields, such as ['title', 'price']."],
  [{ query: { filter: ['text[eq]'] } }, "query.filter must be a list of fields, such as ['title', 'price']."],
  [{ query: { filter: ['text', 'text'] } }, 'query.filter names "text" twice. Remove one.'],
  [{ query: { filter: ['txt'] } }, 'query.filter names "txt", which the schema does not have.'],
  [{ query: { sort: ['txt'] } }, 'query.sort names "txt", which the schema does not have.'],
  [{ query: { filter: ['__v'] } }, 'query.filter names "__v", which the schema does not have.'],
  [{ query: { sort: ['-__v'] } }, 'query.sort names "__v", which the schema does not have.'],
  [
    { query: { sort: ['_id'] } },
    'query.sort names "_id", which has no order. Sort by a single value other than _id.',
  ],
  ...['text', [[]], [['text', '-text']], [['text', 1]], [{}]].map(
    (sort) =>
      [
        { query: { sort } },
        "query.sort must be a list of orders, such as ['-createdAt', ['completed', 'dueAt']].",
      ] as const,
  ),
  [
    { query: { sort: ['text', 'text'] } },
    'query.sort has "text", which serves "text", too. Remove one of them.',
  ],
  [
    {
      query: {
        sort: [
          ['text', '-createdAt'],
          ['-text', 'createdAt'],
        ],
      },
    },
    'query.sort has "text,-createdAt", which serves "-text,createdAt", too. Remove one of them.',
  ],
  [
    { query: { search: 'text' } },
    "query.search must be a list of distinct fields, such as ['title', 'description'].",
  ],
  [
    { query: { search: ['text', 'text'] } },
    "query.search must be a list of distinct fields, such as ['title', 'description'].",
  ],
  [{ query: { search: ['txt'] } }, 'query.search names "txt", which the schema does not have.'],
  [
    { query: { search: ['deletedAt'] } },
    'query.search names "deletedAt", which is no text. Search a text or a list of texts.',
  ],
  [
    { query: { search: ['inner'] } },
    'query.search names "inner", which is no text. Search a text or a list of texts.',
  ],
  ...(
    [
      ['filter', () => ({})],
      ['sort', (record: object, caller: object) => ({ record, caller })],
      ['search', { type: Note, from: (record: object) => record }],
    ] as const
  ).map(
    ([name, output]) =>
      [
        { output, query: { [name]: ['text'] } },
        `query.${name} names "text", which the function of output may hide from a caller, who could guess its values. Leave it out, or write output: { from, hides: [] } with the names of all fields that the function hides or changes.`,
      ] as const,
  ),
  [
    { output: { from: () => ({}), hides: ['text'] }, query: { filter: ['text'] } },
    'query.filter names "text", which clients do not see: its values could be guessed. Leave it out.',
  ],
  ...(
    [
      ['filter', 'inner.a', 'inner.a'],
      ['sort', 'inner.a', 'inner.a'],
      ['search', 'inner.a', 'inner.a'],
      ['filter', 'inner.a', 'inner'],
      ['filter', 'lines.sku', 'lines.sku'],
      ['search', 'lines', 'lines.sku'],
    ] as const
  ).map(
    ([name, path, hidden]) =>
      [
        { ...lines, output: { from: () => ({}), hides: [hidden] }, query: { [name]: [path] } },
        `query.${name} names "${path}", which clients do not see: its values could be guessed. Leave it out.`,
      ] as const,
  ),
  [
    { ...lines, output: { from: () => ({}), hides: ['lines.0.sku'] } },
    'output.hides names "lines.0.sku", which the schema does not have.',
  ],
  [
    { output: Masked, query: { sort: ['text'] } },
    'query.sort names "text", which clients do not see: its values could be guessed. Leave it out.',
  ],
];
