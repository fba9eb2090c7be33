import mongoose, { Schema, Types } from 'mongoose';
import { Presenter } from '../../../src/common/crud/definition/output.js';

const { Binary, Long, UUID } = mongoose.mongo;

function json(schema: Schema, record: object): string {
  return JSON.stringify(new Presenter(schema, []).present(record));
}

describe('the JSON of a record', () => {
  it.each([
    [Types.Decimal128.fromString('1.50'), '"1.50"'],
    [Long.fromBigInt(2n ** 63n - 1n), '"9223372036854775807"'],
    [5n, '"5"'],
    [new Types.ObjectId('0f8fad5bd9cb469fa165708a'), '"0f8fad5bd9cb469fa165708a"'],
    [new UUID('0f8fad5b-d9cb-469f-a165-70867728950e'), '"0f8fad5b-d9cb-469f-a165-70867728950e"'],
    [new Binary(Buffer.from('hi')), '"aGk="'],
    [Buffer.from('hi'), '"aGk="'],
    [new Date(0), '"1970-01-01T00:00:00.000Z"'],
    [new Map([['a', new Map([['b', 1n]])]]), '{"a":{"b":"1"}}'],
  ])('has %p as clients can read it, at every level', (value, written) => {
    const schema = new Schema({ value: {}, list: [{}], map: { type: Map, of: {} }, nested: { value: {} } });
    const record = { value, list: [value, [value]], map: new Map([['key', value]]), nested: { value } };
    expect(json(schema, record)).toBe(
      `{"value":${written},"list":[${written},[${written}]],"map":{"key":${written}},"nested":{"value":${written}}}`,
    );
  });

  it('follows a schema that contains itself, and hides fields and values of maps in it', () => {
    const secret = { type: String, select: false };
    const node = new Schema({ label: String, secret, map: { type: Map, of: secret } }, { _id: false });
    node.add({ children: [node] });
    const hidden = { secret: 's', map: new Map([['key', 's']]) };
    const tree = { label: 'a', secret: 's', children: [{ label: 'b', children: [hidden, null] }] };
    expect(json(node, tree)).toBe('{"label":"a","children":[{"label":"b","children":[{"map":{}},null]}]}');
    // Stored when the field was a list.
    expect(json(node, { map: ['s'] })).toBe('{"map":{}}');
  });
});
