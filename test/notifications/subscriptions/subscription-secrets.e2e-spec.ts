/** @mongodb */
import { Types } from 'mongoose';
import { freshDatabaseUri } from '../../support/mongodb.js';
import { onEvent } from '../../support/on-event.js';
import { expectNotFound } from '../../support/problems.js';
import { acme } from '../../support/tenants.js';
import { type TestResponse, useApp } from '../../support/test-app.js';
import {
  createWebhookApp,
  HOOK,
  SECRET,
  SUBSCRIPTIONS as PATH,
  WHOLE_SECRET,
} from '../../support/webhooks.js';
import { KEPT } from '../../support/whole-records.js';

const NOBODY = '0123456789abcdef01234567';
const REPRESENTATION = { Prefer: 'return=representation' };
const DAY_MS = 24 * 60 * 60 * 1_000;

describe('the secret of a subscription', () => {
  const app = useApp(createWebhookApp);
  beforeEach(() => app.empty());

  const post = (body: unknown, headers?: Record<string, string>) =>
    app.post(PATH, body, { token: acme, headers });
  const create = async () => (await post(HOOK)).body._id as string;
  const get = (id: string) => app.get(`${PATH}/${id}`, { token: acme });
  const patch = (id: string, changes: unknown, headers?: Record<string, string>) =>
    app.patch(`${PATH}/${id}`, changes, { token: acme, headers });
  const rotate = (id: string, headers?: Record<string, string>) =>
    app.post(`${PATH}/${id}/rotate-secret`, undefined, { token: acme, headers });
  const stored = (id: string) =>
    app.database.collection('subscriptions').findOne({ _id: new Types.ObjectId(id) });

  describe('POST /subscriptions/:id/rotate-secret', () => {
    it('returns a new secret, and keeps the previous one for 24 hours', async () => {
      const { _id: id, secret: first } = (await post(HOOK)).body as Record<string, string>;
      const before = Date.now();
      const { status, body } = await rotate(String(id));
      expect([status, body]).toEqual([200, { secret: WHOLE_SECRET }]);
      expect(body.secret).not.toBe(first);
      const record = await stored(String(id));
      expect(record).toMatchObject({ secret: body.secret, previousSecrets: [{ secret: first }] });
      const until = Number((record?.previousSecrets as { until: Date }[])[0]?.until);
      expect(until).toBeGreaterThanOrEqual(before + DAY_MS);
      expect(until).toBeLessThanOrEqual(Date.now() + DAY_MS);
    });

    it('keeps earlier ones, too, but only the last ten', async () => {
      const { _id: id, secret: first } = (await post(HOOK)).body as Record<string, string>;
      const rotated = async () => (await rotate(String(id))).body.secret as string;
      const secrets = [first, await rotated(), await rotated()].reverse();
      const before = secrets.slice(1).map((secret) => ({ secret }));
      expect(await stored(String(id))).toMatchObject({ secret: secrets[0], previousSecrets: before });
      for (let i = 0; i < 9; i++) await rotated();
      const kept = (await stored(String(id)))?.previousSecrets as { secret: string }[];
      expect(kept.map(({ secret }) => secret).slice(8)).toEqual(secrets.slice(0, 2));
    });

    it('loses none of several concurrent rotations', async () => {
      const id = await create();
      const secrets = await Promise.all([1, 2, 3].map(async () => (await rotate(id)).body.secret as string));
      const record = await stored(id);
      const before = (record?.previousSecrets as { secret: string }[]).map(({ secret }) => secret);
      expect([record?.secret, ...before]).toEqual(expect.arrayContaining(secrets));
    });

    it('changes the ETag, and is a 404 if there is no subscription', async () => {
      const id = await create();
      const before = (await get(id)).headers.get('etag');
      await rotate(id);
      expect((await get(id)).headers.get('etag')).not.toBe(before);
      expectNotFound(await rotate(NOBODY), `${PATH}/${NOBODY}/rotate-secret`, 'Subscription');
    });
  });

  describe('Idempotency-Key', () => {
    const KEY = { 'Idempotency-Key': 'k1' };
    const isReplay = ({ headers }: TestResponse) => headers.get('idempotency-replayed') === 'true';

    it('replays a create without its secret', async () => {
      for (const headers of [{ 'Idempotency-Key': 'a' }, { 'Idempotency-Key': 'b', ...REPRESENTATION }]) {
        const first = await post(HOOK, headers);
        const { secret, ...rest } = first.body as Record<string, unknown>;
        expect(secret).toEqual(WHOLE_SECRET);
        const second = await post(HOOK, headers);
        expect([second.status, isReplay(second), second.body]).toEqual([201, true, rest]);
      }
      expect(await app.database.collection('subscriptions').countDocuments()).toBe(2);
    });

    it('replays a rotation without its secret, and rotates once', async () => {
      const id = await create();
      const first = await rotate(id, KEY);
      const second = await rotate(id, KEY);
      expect([second.status, isReplay(second), second.body]).toEqual([200, true, {}]);
      expect((await stored(id))?.secret).toBe(first.body.secret);
    });

    it('finds the result of an attempt that died before its answer', async () => {
      const created = await post(HOOK, { 'Idempotency-Key': 'c' });
      const id = created.body._id as string;
      const rotated = await rotate(id, { 'Idempotency-Key': 'r' });
      await die();
      expect((await rotate(id, { 'Idempotency-Key': 'r' })).body).toEqual(rotated.body);
      expect((await stored(id))?.previousSecrets).toMatchObject([{ secret: created.body.secret }]);
      await rotate(id);
      await die();
      expect((await rotate(id, { 'Idempotency-Key': 'r' })).body).toEqual(rotated.body);
      expect((await post(HOOK, { 'Idempotency-Key': 'c' })).body).toEqual({
        _id: id,
        secret: (await stored(id))?.secret,
      });
      expect(await app.database.collection('subscriptions').countDocuments()).toBe(1);
    });

    /** Leaves the keys as a process does that dies before it can keep its answers. */
    async function die(): Promise<void> {
      await app.database
        .collection('idempotency_keys')
        .updateMany({}, { $unset: { answer: 1 }, $set: { leaseUntil: new Date() } });
    }
  });

  it('is kept for every process, and a replay by another one does not show it', async () => {
    const env = { MONGODB_URI: freshDatabaseUri() };
    const [one, other] = [await createWebhookApp(undefined, env), await createWebhookApp(undefined, env)];
    const request = { token: acme, headers: { 'Idempotency-Key': 'p1' } };
    const { _id } = (await one.post(PATH, HOOK, request)).body as { _id: string };
    expect((await other.post(PATH, HOOK, request)).body).toEqual({ _id });
    expect((await other.get(`${PATH}/${_id}`, { token: acme })).body).toEqual({
      ...KEPT,
      ...HOOK,
      enabled: true,
    });
    // One after the other, since each removes the database.
    await one.close();
    await other.close();
  });

  it('is in no other answer, event or log line, and in no stored answer', async () => {
    const events = ['afterCreate', 'afterUpdate', 'afterDel'].map((hook) =>
      onEvent(app, `subscriptions.${hook}`),
    );
    const [first] = [(await post(HOOK, { 'Idempotency-Key': 's1', ...REPRESENTATION })).body];
    const id = first._id as string;
    const rotated = await rotate(id, { 'Idempotency-Key': 's2' });
    const second = await create();
    const answers = [
      await post(HOOK, { 'Idempotency-Key': 's1', ...REPRESENTATION }),
      await rotate(id, { 'Idempotency-Key': 's2' }),
      await get(id),
      await app.get(PATH, { token: acme }),
      await app.get(PATH, { token: acme, headers: { Accept: 'application/x-ndjson' } }),
      await app.get(`${PATH}?limit=1`, { token: acme }),
      await app.get(`${PATH}/count`, { token: acme }),
      await patch(id, { description: 'Seen' }, REPRESENTATION),
      await patch(id, { description: 'Not seen' }),
      await patch(id, { url: 7 }),
      await app.del(`${PATH}/${second}`, { token: acme }),
    ];
    const told = answers.map(({ text, headers }) => text + JSON.stringify([...headers]));
    const kept = await app.database.collection('idempotency_keys').find().toArray();
    const texts = kept.map(({ answer }) => String((answer as { body: unknown }).body));
    expect(kept).toHaveLength(2);
    expect(events.flat()).toHaveLength(6);
    for (const text of [...told, ...texts, JSON.stringify(events), JSON.stringify(app.logLines)]) {
      expect(text).not.toMatch(SECRET);
      for (const secret of [first.secret, rotated.body.secret])
        expect(text).not.toContain(String(secret).slice(6, 20));
    }
  });

  it('is documented where it is shown, and nowhere else', async () => {
    const { body: document } = await app.get('/docs/openapi.json');
    const withSecret = Object.entries(document.components.schemas as object)
      .filter(([, schema]) => JSON.stringify(schema).includes('secret'))
      .map(([name]) => name);
    expect(withSecret.sort()).toEqual(['RotatedSecret', 'SubscriptionCreated', 'SubscriptionCreatedResult']);
    const { tags, responses } = document.paths[PATH].post;
    expect(tags).toEqual(['Notifications']);
    expect(responses['201'].description).toBe(
      'Created; the whole record if the request prefers it. Only here, and not in a repetition: secret',
    );
  });
});
