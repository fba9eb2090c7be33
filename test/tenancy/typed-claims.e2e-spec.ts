import type { Type } from '@nestjs/common';
import { Prop, Schema } from '@nestjs/mongoose';
import mongoose, { type SchemaTypeOptions } from 'mongoose';
import { CrudModule } from '../../src/common/crud/index.js';
import { IsText } from '../../src/common/fields/index.js';
import { claim, routeParam } from '../../src/common/tenancy/index.js';
import { useResourceApp } from '../support/resource-app.js';
import { ACME, tokenOf } from '../support/tenants.js';

const { Types } = mongoose.Schema;
const UUID = '8f14e45f-ceea-4a7b-9d3c-1f0d3c2b1a00';
const DATE = '2026-12-31T12:00:00.000Z';

/** Claims that Mongoose would cast to one type or another. */
const TEXTS = ['1', '1.5', '1.50', '-9', '0x1', '01', 'true', 'abcdefghijkl', DATE, UUID, ACME].concat(
  [UUID, ACME].map((text) => text.toUpperCase()),
);
/** The last safe integer, and integers beside which another one reads as the same number. */
const LAST = Number.MAX_SAFE_INTEGER;
const INEXACT = [LAST + 1, -LAST - 1, 1e300];
const CLAIMS = [...TEXTS, 1, -1.5, 0, LAST, ...INEXACT, true, false];

/** For each type of a field: which of the claims are its values, and what a path may and may not say. */
const TYPES = {
  String: { type: String, claims: TEXTS, paths: ['1', '0x1'], badPaths: [] },
  Number: {
    type: Number,
    claims: [1, -1.5, 0, LAST],
    paths: ['1', '-1.5'],
    badPaths: ['0x1', '01', '1.0', '1e0', 'x'],
  },
  Int32: { type: Types.Int32, claims: [1, 0], paths: ['1'], badPaths: ['0x1', '1.5', 'true'] },
  Double: { type: Types.Double, claims: [1, -1.5, 0, LAST], paths: ['1', '1.5'], badPaths: ['0x1', '1.50'] },
  Boolean: { type: Boolean, claims: [true, false], paths: ['true', 'false'], badPaths: ['1', 'yes', 'TRUE'] },
  Date: { type: Date, claims: [DATE], paths: [DATE], badPaths: ['2026', '0', '2026-12-31T12:00:00Z'] },
  ObjectId: { type: Types.ObjectId, claims: [ACME], paths: [ACME], badPaths: ['abcdefghijkl', '1'] },
  UUID: {
    type: Types.UUID,
    claims: [UUID],
    paths: [UUID],
    badPaths: [UUID.toUpperCase(), UUID.replaceAll('-', ''), '1'],
  },
  Decimal128: {
    type: Types.Decimal128,
    claims: ['1', '1.5', '-9'],
    paths: ['1.5'],
    badPaths: ['1.50', '01', '1E0', 'NaN'],
  },
  BigInt: { type: Types.BigInt, claims: ['1', '-9'], paths: ['1'], badPaths: ['01', '0x1', '1.0', '-0'] },
} as const;

type Name = keyof typeof TYPES;
const NAMES = Object.keys(TYPES) as Name[];

class NoteInput {
  @IsText({ max: 80 }) text!: string;
}

function noteOf(name: string, type: unknown): Type<object> {
  class Note extends NoteInput {
    account!: unknown;
  }
  Prop({ type, required: true } as SchemaTypeOptions<unknown>)(Note.prototype, 'account');
  Object.defineProperty(Note, 'name', { value: name });
  Schema({ timestamps: true })(Note);
  return Note;
}

const resources = NAMES.flatMap((name) => [
  CrudModule.forFeature({
    entity: noteOf(`${name}Note`, TYPES[name].type),
    input: NoteInput,
    name: `${name}Notes`,
    isolationFields: { all: { account: claim('account') } } as object,
  }),
  CrudModule.forFeature({
    entity: noteOf(`${name}Page`, TYPES[name].type),
    input: NoteInput,
    name: `${name}Pages`,
    path: `accounts/:account/${name}Pages`,
    isolationFields: { all: { account: routeParam('account') } } as object,
  }),
]);

const app = useResourceApp(...resources);
beforeEach(() => app.empty());

describe.each(NAMES)('an isolation field of the type %s', (name) => {
  const { claims, paths, badPaths } = TYPES[name];
  const path = `/${name}Notes`;

  it('takes a claim of its own type, and refuses every other one in place of casting it', async () => {
    for (const account of CLAIMS) {
      const token = tokenOf(ACME, { account });
      const fits = (claims as readonly unknown[]).includes(account);
      const created = await app.post(path, { text: 'x' }, { token });
      const found = await app.get(`${path}/count`, { token });
      const expected = fits ? [201, 200, undefined] : [403, 403, 'CLAIM_REQUIRED'];
      expect([account, created.status, found.status, found.body.code]).toEqual([account, ...expected]);
      if (fits) continue;
      expect(created.body.detail).toBe(
        'The token must carry the claim "account", with a value of the right type.',
      );
    }
  });

  it('makes each value an account of its own', async () => {
    for (const account of claims) await app.post(path, { text: 'x' }, { token: tokenOf(ACME, { account }) });
    for (const account of claims) {
      const { body } = await app.get(`${path}/count`, { token: tokenOf(ACME, { account }) });
      expect([account, body]).toEqual([account, { count: 1 }]);
    }
  });

  it('takes from a path the one spelling that the service shows', async () => {
    const at = (account: string) => `/accounts/${account}/${name}Pages`;
    for (const account of paths) {
      expect((await app.post(at(account), { text: 'x' })).status).toBe(201);
      const { status, body } = await app.get(at(account));
      expect([account, status, String(body[0]?.account), body.length]).toEqual([account, 200, account, 1]);
    }
    for (const account of badPaths) {
      for (const { status, body } of [
        await app.get(at(account)),
        await app.post(at(account), { text: 'x' }),
      ]) {
        const code = name === 'ObjectId' ? 'INVALID_ID' : 'VALIDATION_FAILED';
        expect([account, status, body.code]).toEqual([account, 400, code]);
      }
    }
    expect(await app.database.collection(`${name}Pages`).countDocuments()).toBe(paths.length);
  });
});

it('takes an ObjectId of a path in either case, as every identifier in a path', async () => {
  await app.post(`/accounts/${ACME}/ObjectIdPages`, { text: 'x' });
  const { status, body } = await app.get(`/accounts/${ACME.toUpperCase()}/ObjectIdPages`);
  expect([status, body[0]?.account]).toEqual([200, ACME]);
});
