import { Schema } from 'mongoose';
import { schemaOf } from '../../src/common/fields/index.js';
import { claim } from '../../src/common/tenancy/index.js';
import { Note, type MisuseCases } from './misused-classes.js';

type Index = Parameters<Schema['index']>;

const Line = new Schema({ sku: String });
const indexed = (...index: Index) => ({
  schema: schemaOf(Note)
    .add({
      address: { city: String },
      lines: [Line],
      anything: Schema.Types.Mixed,
      names: { type: Map, of: String },
    })
    .index(...index),
});
const sentence = (keys: string, name: string, near = '') =>
  `the index ${keys} names "${name}", which the schema does not have.${near && ` Did you mean "${near}"?`}`;

/** Indexes of fields that are not there. */
export const INDEX_CASES: MisuseCases = {
  [sentence('{"txet":1}', 'txet', 'text')]: indexed({ txet: 1 }),
  [sentence('{"mood":-1}', 'mood')]: indexed({ mood: -1 }),
  [sentence('{"tenant":1,"tetx":1}', 'tetx', 'text')]: indexed({ tenant: 1, tetx: 1 }, { unique: true }),
  [sentence('{"txt":"text"}', 'txt', 'text')]: indexed({ txt: 'text' }),
  [sentence('{"adress.city":1}', 'adress.city', 'address.city')]: indexed({ 'adress.city': 1 }),
  [sentence('{"address.cty":1}', 'address.cty', 'address.city')]: indexed({ 'address.cty': 1 }),
  [sentence('{"lines.sk":1}', 'lines.sk', 'lines.sku')]: indexed({ 'lines.sk': 1 }),
  [sentence('{"text.length":1}', 'text.length')]: indexed({ 'text.length': 1 }),
  [sentence('{"anythin.$**":1}', 'anythin', 'anything')]: indexed({ 'anythin.$**': 1 }),
  [sentence('{"$**":1}', 'txet', 'text')]: indexed({ '$**': 1 }, { wildcardProjection: { txet: 1 } }),
  [sentence('{"$**":"text"}', 'txet', 'text')]: indexed({ '$**': 'text' }, { weights: { txet: 5 } }),
  [sentence('{"text":1}', 'deletdAt', 'deletedAt')]: indexed(
    { text: 1 },
    { partialFilterExpression: { deletdAt: { $exists: true } } },
  ),
  [sentence('{"text":1}', 'ref1', 'ref')]: indexed(
    { text: 1 },
    { partialFilterExpression: { $and: [{ $or: [{ text: 'a' }, { ref1: null }] }] } },
  ),
};

const reader = { readers: claim('sub') };
const writer = { writers: claim('sub') };
const lists = (...index: Index) => {
  const { schema } = indexed(...index);
  const visits = new Schema({ notes: [String], tags: [String], at: Date });
  schema.add({ readers: [String], writers: [String], tags: [String], visits: [visits] });
  schema.add({ secret: { type: String, select: false } });
  return schema;
};
const unstorable = (keys: string, one: string, other: string, remedy = 'Leave one of them out.') =>
  `the index ${keys} has two lists, "${one}" and "${other}", and a record with both could not be stored. ${remedy}`;
const limited = (...names: string[]) =>
  `It begins with the isolation fields, since it is unique. Remove unique: true, or write globallyUnique: ${JSON.stringify(names)}.`;

/** Indexes of two lists. */
export const LIST_INDEX_CASES: MisuseCases = {
  [unstorable('{"tags":1,"readers":-1}', 'tags', 'readers')]: { schema: lists({ tags: 1, readers: -1 }) },
  [unstorable('{"visits.notes":1,"visits.0.tags":1}', 'visits.notes', 'visits.tags')]: {
    schema: lists({ 'visits.notes': 1, 'visits.0.tags': 1 }),
  },
  [unstorable('{"readers":1,"tags":1}', 'readers', 'tags', limited('tags'))]: {
    schema: lists({ tags: 1 }, { unique: true }),
    isolationFields: { all: reader },
  },
  [unstorable('{"readers":1,"writers":1,"text":1}', 'readers', 'writers', limited('text'))]: {
    schema: lists({ text: 1 }, { unique: true }),
    isolationFields: { all: { ...reader, ...writer } },
  },
  [unstorable('{"readers":1,"writers":1,"secret":1}', 'readers', 'writers', limited('secret'))]: {
    schema: lists({ secret: 1 }, { unique: true }),
    isolationFields: { get: reader, create: { ...reader, ...writer } },
  },
};

/** Indexes of one list at most. */
export const GOOD_LIST_INDEXES: readonly (readonly [string, object])[] = (
  [
    [lists({ 'visits.at': 1, 'visits.notes': 1, visits: 1, text: 1 }), {}],
    [lists({ readers: 'text', tags: 'text' }), {}],
    [lists({ tags: 1 }, { unique: true }), { isolationFields: { all: reader }, globallyUnique: ['tags'] }],
    [lists({ readers: 1, text: 1 }, { unique: true }), { isolationFields: { all: reader } }],
  ] satisfies [Schema, object][]
).map(([schema, change]) => [JSON.stringify(schema.indexes()), { schema, ...change }] as const);

/** Indexes of fields that are there, or can be. */
export const GOOD_INDEXES: readonly (readonly [string, object])[] = (
  [
    [{ _id: 'hashed' }],
    [{ tenant: 1, text: 1, createdAt: -1, __v: 1 }, { unique: true }],
    [{ address: 1 }],
    [{ 'address.city': 1, 'inner.a': 1 }],
    [{ 'lines.sku': 1 }],
    [{ 'lines.0.sku': 1, 'lines._id': 1 }],
    [{ 'anything.at.all': 1 }],
    [{ 'names.en': 1 }],
    [{ 'names.$**': 1 }],
    [{ '$**': 1 }, { wildcardProjection: { 'address.city': 1, _id: 0 } }],
    [{ '$**': 'text' }, { weights: { 'names.en': 5 } }],
    [
      { text: 1 },
      { partialFilterExpression: { $or: [{ deletedAt: null }, { 'address.city': { $gt: '' } }] } },
    ],
  ] satisfies Index[]
).map((index) => [JSON.stringify(index), indexed(...(index as Index))] as const);
