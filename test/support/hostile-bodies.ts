const NESTED = 5_000;

/** JSON texts that no create or update of any resource may take. */
export const HOSTILE_BODIES: Record<string, string> = {
  'an array': '[{"title":"x"}]',
  'an empty array': '[]',
  'a string': '"title"',
  'a number': '1',
  true: 'true',
  null: 'null',
  __proto__: '{"title":"x","__proto__":{"admin":true}}',
  '__proto__, escaped': '{"title":"x","\\u005f_proto__":{"admin":true}}',
  '__proto__, deeper': '{"title":{"__proto__":{"length":1}}}',
  constructor: '{"title":"x","constructor":{"prototype":{"admin":true}}}',
  'constructor, deeper': '{"title":{"constructor":{"prototype":{"admin":true}}}}',
  'a BSON type, deeper': '{"title":{"_bsontype":"MinKey"}}',
  'constructor as a string': '{"title":"x","constructor":"x"}',
  prototype: '{"title":"x","prototype":{}}',
  toString: '{"title":"x","toString":"x"}',
  hasOwnProperty: '{"title":"x","hasOwnProperty":1}',
  then: '{"title":"x","then":"x"}',
  toJSON: '{"title":"x","toJSON":{}}',
  _bsontype: '{"title":{"_bsontype":"ObjectId","id":"x"}}',
  'an operator as the title': '{"title":{"$ne":1}}',
  'a pattern as the title': '{"title":{"$regex":"^"}}',
  $set: '{"$set":{"title":"x"}}',
  '$set beside a title': '{"title":"x","$set":{"tenant":"665f1c2ab7e3a90d4c8b0002"}}',
  $where: '{"$where":"sleep(1000)"}',
  $unset: '{"title":"x","$unset":{"title":1}}',
  $rename: '{"$rename":{"title":"tenant"}}',
  'a dotted key': '{"title":"x","title.length":1}',
  'a dotted path to an internal field': '{"title":"x","a.__v":1}',
  'an index': '{"title":"x","tags.0":"x"}',
  'the revision': '{"title":"x","__v":9}',
  'the id': '{"title":"x","_id":"665f1c2ab7e3a90d4c8b0001"}',
  createdAt: '{"title":"x","createdAt":"2000-01-01T00:00:00Z"}',
  'an empty field name': '{"title":"x","":1}',
  'a NUL in a field name': '{"title":"x","title\\u0000":"y"}',
  'a field name of a megabyte or so': `{"title":"x","${'n'.repeat(900_000)}":1}`,
  'ten thousand unknown fields': `{${Array.from({ length: 10_000 }, (_, i) => `"f${i}":1`).join()}}`,
  'a duplicate field whose last value is wrong': '{"title":"x","title":1}',
  'a title as an array': '{"title":["x"]}',
  'a title of a megabyte or so': `{"title":"${'t'.repeat(900_000)}"}`,
  'deep arrays': `{"title":${'['.repeat(NESTED)}${']'.repeat(NESTED)}}`,
  'deep objects': `${'{"title":'.repeat(NESTED)}1${'}'.repeat(NESTED)}`,
  'a number beyond all bounds': '{"title":1e999}',
  'JSON cut short': '{"title":"x"',
  'JSON with a comma too many': '{"title":"x",}',
  'JSON with single quotes': "{'title':'x'}",
  'JSON with a comment': '{"title":"x"/**/}',
  'two values': '{"title":"x"}{"title":"y"}',
  NaN: '{"title":NaN}',
  'a raw line break in a string': '{"title":"x\n"}',
  'a lone surrogate': '{"title":"\\ud800"}',
  'a bare word': 'title',
  'a form': 'title=x',
  'white space': ' \n\t ',
};

/** Content types that no path takes, each with a body that would be good JSON. */
export const HOSTILE_TYPES = [
  ...['application/json\ta', 'application/json a', 'application/json, text/plain', 'application/json;;'],
  ...['latin1', 'utf-16', '"latin1"'].map((charset) => `application/json; charset=${charset}`),
  ...['application/json/x', 'application/jsonx', 'application/vnd.api+json', 'text/plain', 'text/json'],
  ...['application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', '*/*', 'json', '/'],
];

const around = (bytes: number[]) =>
  Buffer.concat([Buffer.from('{"title":"a'), Buffer.from(bytes), Buffer.from('"}')]);

/** Bodies whose bytes are not UTF-8. */
export const NOT_UTF8: Record<string, Buffer> = {
  'a stray continuation byte': around([0x80]),
  'a sequence cut short': around([0xe2, 0x82]),
  'an overlong slash': around([0xc0, 0xaf]),
  'a surrogate in UTF-8': around([0xed, 0xa0, 0x80]),
  'beyond Unicode': around([0xf4, 0x90, 0x80, 0x80]),
  latin1: Buffer.from('{"title":"caf\u00e9"}', 'latin1'),
  'UTF-16': Buffer.from('{"title":"x"}', 'utf16le'),
  'bytes of no meaning': Buffer.from([0xff, 0xfe, 0x00, 0x01]),
};
