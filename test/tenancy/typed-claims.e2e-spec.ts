import { Prop } from '@nestjs/mongoose';
import mongoose, { type SchemaTypeOptions } from 'mongoose';
import { claim, routeParam } from '../../src/common/tenancy/index.js';
import { requestsOf } from '../support/requests-of.js';
import { feature } from '../support/resource.js';
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
const CLAIMS = [...TEXTS, 1, -1.5, 0, LAST, ...INEXACT, true, false, null, '', ['1', ACME], { $ne: null }];

/** For each type of a field: which of the claims are its values, and what a path may and may not say. */
const TYPES: Record<string, [type: unknown, claims: unknown[], paths: string[], badPaths: string[]]> = {
  String: [String, TEXTS, ['1', '0x1'], []],
  Number: [Number, [1, -1.5, 0, LAST], ['1', '-1.5'], ['0x1', '01', '1.0', '1e0', 'x']],
  Int32: [Types.Int32, [1, 0], ['1'], ['0x1', '1.5', 'true']],
  Double: [Types.Double, [1, -1.5, 0, LAST], ['1', '1.5'], ['0x1', '1.50']],
  Boolean: [Boolean, [true, false], ['true', 'false'], ['1', 'yes', 'TRUE']],
  Date: [Date, [DATE], [DATE], ['2026', '0', '2026-12-31T12:00:00Z']],
  ObjectId: [Types.ObjectId, [ACME], [ACME], ['abcdefghijkl', '1']],
  UUID: [Types.UUID, [UUID], [UUID], [UUID.toUpperCase(), UUID.replaceAll('-', ''), '1']],
  Decimal128: [Types.Decimal128, ['1', '1.5', '-9'], ['1.5'], ['1.50', '01', '1E0', 'NaN']],
  BigInt: [Types.BigInt, ['1', '-9'], ['1'], ['01', '0x1', '1.0', '-0']],
};

const resources = Object.entries(TYPES).flatMap(([name, [type]]) => {
  const kept = { account: Prop({ type, required: true } as SchemaTypeOptions<unknown>) };
  const [byClaim, byPath] = [{ account: claim('account') }, { account: routeParam('account') }];
  const path = `accounts/:account/${name}Pages`;
  return [
    feature({ name: `${name}Notes`, kept, isolationFields: { all: byClaim } }),
    feature({ name: `${name}Pages`, path, kept, isolationFields: { all: byPath } }),
  ];
});
const app = useResourceApp(...resources);
beforeEach(() => app.empty());
const of = (account: unknown) => requestsOf(app, tokenOf(ACME, { account }));
const anyone = requestsOf(app);

describe.each(Object.entries(TYPES))(
  'an isolation field of the type %s',
  (name, [, claims, paths, badPaths]) => {
    const path = `/${name}Notes`;

    it('takes a claim of its own type as an account of its own, and refuses every other one', async () => {
      for (const account of claims) await of(account).create(path, { text: 'x' });
      for (const account of CLAIMS) {
        const { status, body } = await of(account).send('GET', `${path}/count`);
        const refused = [403, 'CLAIM_REQUIRED', undefined];
        const expected = claims.includes(account) ? [200, undefined, 1] : refused;
        expect([account, status, body.code, body.count]).toEqual([account, ...expected]);
      }
      const foreign = CLAIMS.filter((account) => !claims.includes(account)).slice(0, 2);
      const detail = 'The token must carry the claim "account", with a value of the right type.';
      for (const account of foreign)
        expect((await of(account).send('POST', path, { text: 'x' })).body).toMatchObject({
          status: 403,
          detail,
        });
    });

    it('takes from a path the one spelling that the service shows', async () => {
      const at = (account: string) => `/accounts/${account}/${name}Pages`;
      for (const account of paths) {
        await anyone.create(at(account), { text: 'x' });
        const { status, body } = await anyone.send('GET', at(account));
        expect([account, status, String(body[0]?.account), body.length]).toEqual([account, 200, account, 1]);
      }
      const code = name === 'ObjectId' ? 'INVALID_ID' : 'VALIDATION_FAILED';
      for (const account of badPaths)
        for (const request of [['GET'], ['POST', { text: 'x' }]] as const) {
          const { status, body } = await anyone.send(request[0], at(account), request[1]);
          expect([account, status, body.code]).toEqual([account, 400, code]);
        }
      expect(await app.database.collection(`${name}Pages`).countDocuments()).toBe(paths.length);
    });
  },
);

it('takes an ObjectId of a path in either case, as every identifier in a path', async () => {
  await anyone.create(`/accounts/${ACME}/ObjectIdPages`, { text: 'x' });
  const { status, body } = await anyone.send('GET', `/accounts/${ACME.toUpperCase()}/ObjectIdPages`);
  expect([status, body[0]?.account]).toEqual([200, ACME]);
});
