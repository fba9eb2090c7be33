import { Types } from 'mongoose';
import { NotificationsModule } from '../../../src/common/notifications/index.js';
import { PostsModule } from '../../../src/posts/posts.module.js';
import { storeSubscriptions } from '../../support/deliveries.js';
import { freshDatabaseUri } from '../../support/mongodb.js';
import { onEvent } from '../../support/on-event.js';
import { expectInvalid, expectProblem } from '../../support/problems.js';
import { forgetAnswers } from '../../support/replays.js';
import { rootOf } from '../../support/resource-app.js';
import { ACME, acme as token, globex } from '../../support/tenants.js';
import { createTestApp, type TestAppOptions } from '../../support/test-app.js';
import {
  expectReplayOf,
  HOOK,
  subscriber,
  SUBSCRIPTIONS as PATH,
  useWebhookApp,
  WHOLE_SECRET,
} from '../../support/webhooks.js';
import { KEPT } from '../../support/whole-records.js';

const REPRESENTATION = { Prefer: 'return=representation' };
const DAY_MS = 24 * 60 * 60 * 1_000;
const MAX = 100;
const key = (name: string) => ({ 'Idempotency-Key': name });

const env = { MONGODB_URI: freshDatabaseUri() };
/** Two processes over one database. */
const [app, second] = [useWebhookApp(env), useWebhookApp(env)];

describe('the secret of a subscription', () => {
  const { post, create, get, patch, act, stored } = subscriber(app);

  const rotate = (id: string, headers?: Record<string, string>) => act(id, 'rotate-secret', headers);
  const rotated = async (id: string) => (await rotate(id)).body.secret as string;
  const created = async (headers?: Record<string, string>) =>
    (await post(HOOK, headers)).body as { _id: string; secret: string };
  const count = () => app.database.collection('subscriptions').countDocuments();
  /** Those that a subscription has and had, the latest first. */
  const secretsOf = async (id: string) => {
    const found = await stored(id);
    return [found, ...(found?.previousSecrets as object[])].map((one) => (one as { secret: string }).secret);
  };

  describe('POST /subscriptions/:id/rotate-secret', () => {
    it('returns a new secret, and keeps the previous one for 24 hours', async () => {
      const { _id: id, secret: first } = await created();
      const etag = async () => (await get(id)).headers.get('etag');
      const [before, etagBefore] = [Date.now(), await etag()];
      const { status, body } = await rotate(id);
      expect([status, body]).toEqual([200, { secret: WHOLE_SECRET }]);
      expect(body.secret).not.toBe(first);
      expect(await secretsOf(id)).toEqual([body.secret, first]);
      const until = Number((await stored(id))?.previousSecrets[0].until);
      expect(until).toBeGreaterThanOrEqual(before + DAY_MS);
      expect(until).toBeLessThanOrEqual(Date.now() + DAY_MS);
      expect(await etag()).not.toBe(etagBefore);
    });

    it('keeps earlier ones, too, but only the last ten', async () => {
      const { _id: id, secret } = await created();
      const secrets = [secret];
      for (let i = 0; i < 11; i++) {
        secrets.unshift(await rotated(id));
        expect(await secretsOf(id)).toEqual(secrets.slice(0, 11));
      }
    });

    it('loses none of several concurrent rotations', async () => {
      const id = await create();
      const secrets = await Promise.all([rotated(id), rotated(id), rotated(id)]);
      expect(await secretsOf(id)).toEqual(expect.arrayContaining(secrets));
    });
  });

  describe('Idempotency-Key', () => {
    it('replays a create without its secret', async () => {
      for (const headers of [key('a'), { ...key('b'), ...REPRESENTATION }]) {
        const { secret, ...rest } = await created(headers);
        expect(secret).toEqual(WHOLE_SECRET);
        expectReplayOf(await post(HOOK, headers), 201, rest);
      }
      expect(await count()).toBe(2);
    });

    it('replays a rotation of a subscription without its secret, and rotates once', async () => {
      const id = await create();
      const first = await rotate(id, key('k1'));
      expectReplayOf(await rotate(id, key('k1')), 200, {});
      expect((await stored(id))?.secret).toBe(first.body.secret);
      expect((await rotate(await create(), key('k1'))).body).toEqual({ secret: WHOLE_SECRET });
    });

    it('finds the result of an attempt that died before its answer', async () => {
      const { _id } = await created(key('c'));
      const secret = await rotated(_id);
      await forgetAnswers(app);
      expect(await created(key('c'))).toEqual({ _id, secret });
      expect(await count()).toBe(1);
    });
  });

  it('is in no other answer, event or log line, and in no stored answer', async () => {
    const hooks = ['afterCreate', 'afterUpdate', 'afterDel'];
    const events = hooks.map((hook) => onEvent(app, `subscriptions.${hook}`));
    const { _id: id, secret } = await created({ ...key('s1'), ...REPRESENTATION });
    const { body } = await rotate(id, key('s2'));
    const second = await create();
    const answers = [
      await post(HOOK, { ...key('s1'), ...REPRESENTATION }),
      await rotate(id, key('s2')),
      await get(id),
      await app.get(PATH, { token }),
      await app.get(PATH, { token, headers: { Accept: 'application/x-ndjson' } }),
      await app.get(`${PATH}?limit=1`, { token }),
      await app.get(`${PATH}/count`, { token }),
      await patch(id, { description: 'Seen' }, REPRESENTATION),
      await patch(id, { description: 'Not seen' }),
      await patch(id, { url: 7 }),
      await app.del(`${PATH}/${second}`, { token }),
    ];
    const told = answers.map(({ text, headers }) => text + JSON.stringify([...headers]));
    const kept = await app.database.collection('idempotency_keys').find().toArray();
    const texts = kept.map(({ answer }) => String((answer as { body: unknown }).body));
    expect(kept).toHaveLength(2);
    expect(events.flat()).toHaveLength(6);
    for (const text of [...told, ...texts, JSON.stringify(events), JSON.stringify(app.logLines)]) {
      expect(text).not.toMatch(/whsec_[A-Za-z0-9+/=]+/);
      for (const one of [secret, body.secret as string]) expect(text).not.toContain(one.slice(6, 20));
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

describe('the subscriptions of a tenant, in two processes', () => {
  const [one, other] = [subscriber(app), subscriber(second)];

  const createAtOnce = async (count: number) => {
    const creates = Array.from({ length: count }, (_, i) => (i % 2 === 0 ? one : other).post(HOOK));
    const statuses = (await Promise.all(creates)).map(({ status }) => status);
    const number = (expected: number) => statuses.filter((status) => status === expected).length;
    return { created: number(201), rejected: number(409) };
  };
  const count = async () => (await app.get(`${PATH}/count`, { token })).body.count as number;

  it('are at most 100, however many are created at once, and make room when they are deleted, also for one with a key', async () => {
    // Those that are there leave room for a few: more would meet at the last slots again and again.
    const tenant = new Types.ObjectId(ACME);
    const present = Array.from({ length: MAX - 10 }, (_, slot) => ({ tenant, slot }));
    await storeSubscriptions(app, ...present);
    expect(await createAtOnce(20)).toEqual({ created: 10, rejected: 10 });
    expect(await count()).toBe(MAX);
    expectProblem(await one.post(HOOK), {
      status: 409,
      code: 'TOO_MANY_SUBSCRIPTIONS',
      instance: PATH,
      detail: 'Your tenant has 100 subscriptions, which is the maximum. Delete one that is no longer needed.',
    });
    expect((await subscriber(app, globex).post(HOOK)).status).toBe(201);
    const { body } = await app.get(`${PATH}?limit=4&fields=url`, { token });
    const [last, ...others] = (body.results as { _id: string }[]).map(({ _id }) => `${PATH}/${_id}`);
    for (const path of others) await second.del(path, { token });
    expect(await createAtOnce(5)).toEqual({ created: 3, rejected: 2 });
    await second.del(last ?? '', { token });
    const first = await one.post(HOOK, key('last'));
    await forgetAnswers(app);
    const again = await other.post(HOOK, key('last'));
    expect([first.status, again.status, again.body._id]).toEqual([201, 201, first.body._id]);
    expect(await count()).toBe(MAX);
  });

  it('are there for each process, and a replay by another one does not show the secret', async () => {
    const { _id } = (await one.post(HOOK, key('p1'))).body as { _id: string };
    expect((await other.post(HOOK, key('p1'))).body).toEqual({ _id });
    expect((await other.get(_id)).body).toEqual({ ...KEPT, ...HOOK, enabled: true });
  });
});

const PRIVATE = 'http://127.0.0.1:9/hook';
const [HTTP, HTTPS] = ['http://93.184.216.14:8080', 'https://93.184.216.14'];
const notHttps = (url: string) => [url, 'The URL must be an https URL.'];
const notPublic = (url: string) => [url, 'The URL must lead to a public address.'];

/** What the checks say of each kind of URL is shown in webhook-targets.spec.ts. */
it.each<[string, TestAppOptions, taken: string[], refused: string[][]]>([
  [
    'must be public, and a name is refused in the same words whether it is internal or unknown',
    { env: { WEBHOOK_ALLOW_PRIVATE: 'false' } },
    [HTTP, HTTPS],
    [PRIVATE, 'http://localhost:3000', 'https://nowhere.invalid'].map(notPublic),
  ],
  ['must be https in production', { env: { NODE_ENV: 'production' } }, [HTTPS], [notHttps(HTTP)]],
  [
    'must be https and public if an application says nothing of targets',
    { root: rootOf(PostsModule, NotificationsModule.forRoot({ worker: false })) },
    [HTTPS],
    [notHttps(HTTP), notPublic('https://127.0.0.1:9/hook')],
  ],
])('the target of a subscription %s', async (_what, { env, root }, taken, refused) => {
  await using app = await createTestApp({ root, env: { WORKER: 'off', ...env } });
  for (const url of taken) {
    const { status, body } = await app.post(PATH, { ...HOOK, url }, { token });
    expect(status).toBe(201);
    for (const [other, detail = ''] of refused) {
      const fault = { pointer: '/url', detail };
      expectInvalid(await app.post(PATH, { ...HOOK, url: other }, { token }), PATH, fault);
      const path = `${PATH}/${body._id}`;
      expectInvalid(await app.patch(path, { url: other }, { token }), path, fault);
      expect((await app.get(path, { token })).body.url).toBe(url);
    }
  }
});
