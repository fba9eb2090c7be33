import { Schema } from 'mongoose';
import { claim, schemaOf } from '../../src/index.js';
import { Note, type MisuseCases } from './misused-classes.js';

type Index = Parameters<Schema['index']>;

const indexed = (...index: Index) => ({
  schema: schemaOf(Note)
    .add({ address: { city: String }, lines: [new Schema({ sku: String })] })
    .add({ anything: Schema.Types.Mixed, names: { type: Map, of: String } })
    .index(...index),
});
const stray = (name: string, ...[keys, options]: Index): MisuseCases => ({
  [`the index ${JSON.stringify(keys)} names "${name}", which the schema does not have.`]: indexed(
    keys,
    options,
  ),
});

const onlyIf = (partialFilterExpression: Record<string, unknown>) => ({ partialFilterExpression });

/** Indexes of fields that are not there. */
export const INDEX_CASES: MisuseCases = {
  ...stray('txet', { txet: 1 }),
  ...stray('tetx', { tenant: 1, tetx: 1 }, { unique: true }),
  ...stray('adress.city', { 'adress.city': 1 }),
  ...stray('address.cty', { 'address.cty': 1 }),
  ...stray('lines.sk', { 'lines.sk': 1 }),
  ...stray('text.length', { 'text.length': 1 }),
  ...stray('anythin', { 'anythin.$**': 1 }),
  ...stray('txet', { '$**': 1 }, { wildcardProjection: { txet: 1 } }),
  ...stray('txet', { '$**': 'text' }, { weights: { txet: 5 } }),
  ...stray('deletdAt', { text: 1 }, onlyIf({ deletdAt: { $exists: true } })),
  ...stray('ref1', { text: 1 }, onlyIf({ $and: [{ $or: [{ text: 'a' }, { ref1: null }] }] })),
};

const reader = { readers: claim('sub') };
const writer = { writers: claim('sub') };
const lists = (...index: Index) => {
  const { schema } = indexed(...index);
  const visits = new Schema({ notes: [String], tags: [String], at: Date });
  const secret = { type: String, select: false };
  schema.add({ readers: [String], writers: [String], tags: [String], visits: [visits], secret });
  return { schema };
};
const unstorable = (keys: string, one: string, other: string) =>
  `the index of ${keys} has two lists, "${one}" and "${other}", and a record with both could not be stored. Leave one of them out, or, if it begins with isolation fields since it is unique, write globallyUnique.`;
const unique = { unique: true };
const both = { ...reader, ...writer };

export const LIST_INDEX_CASES: MisuseCases = {
  [unstorable('tags, readers', 'tags', 'readers')]: lists({ tags: 1, readers: -1 }),
  [unstorable('visits.notes, visits.0.tags', 'visits.notes', 'visits.tags')]: lists({
    'visits.notes': 1,
    'visits.0.tags': 1,
  }),
  [unstorable('readers, tags', 'readers', 'tags')]: {
    ...lists({ tags: 1 }, unique),
    isolationFields: { all: reader },
  },
  [unstorable('readers, writers, text', 'readers', 'writers')]: {
    ...lists({ text: 1 }, unique),
    isolationFields: { all: both },
  },
  [unstorable('readers, writers, secret', 'readers', 'writers')]: {
    ...lists({ secret: 1 }, unique),
    isolationFields: { get: reader, create: both },
  },
};

/** Indexes of one list at most, and of fields that are there, or can be. */
export const GOOD_INDEXES: object[] = [
  lists({ 'visits.at': 1, 'visits.notes': 1, visits: 1, text: 1 }),
  lists({ readers: 'text', tags: 'text' }),
  { ...lists({ tags: 1 }, unique), isolationFields: { all: reader }, globallyUnique: ['tags'] },
  { ...lists({ readers: 1, text: 1 }, unique), isolationFields: { all: reader } },
  indexed({ _id: 'hashed' }),
  indexed({ tenant: 1, text: 1, createdAt: -1, __v: 1 }, unique),
  indexed({ address: 1 }),
  indexed({ 'address.city': 1, 'inner.a': 1 }),
  indexed({ 'lines.0.sku': 1, 'lines._id': 1 }),
  indexed({ 'anything.at.all': 1 }),
  indexed({ 'names.en': 1 }),
  indexed({ 'names.$**': 1 }),
  indexed({ '$**': 1 }, { wildcardProjection: { 'address.city': 1, _id: 0 } }),
  indexed({ '$**': 'text' }, { weights: { 'names.en': 5 } }),
  indexed({ text: 1 }, onlyIf({ $or: [{ deletedAt: null }, { 'address.city': { $gt: '' } }] })),
];
