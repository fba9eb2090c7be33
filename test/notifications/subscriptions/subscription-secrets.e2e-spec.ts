/** @mongodb */
import { onEvent } from '../../support/on-event.js';
import { expectNotFound } from '../../support/problems.js';
import { acme } from '../../support/tenants.js';
import type { TestResponse } from '../../support/test-app.js';
import {
  forgetAnswers,
  HOOK,
  subscriber,
  SUBSCRIPTIONS as PATH,
  useWebhookApp,
  WHOLE_SECRET,
} from '../../support/webhooks.js';

const NOBODY = '0123456789abcdef01234567';
const REPRESENTATION = { Prefer: 'return=representation' };
const DAY_MS = 24 * 60 * 60 * 1_000;
const key = (name: string) => ({ 'Idempotency-Key': name });

describe('the secret of a subscription', () => {
  const app = useWebhookApp();
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
      const before = Date.now();
      const { status, body } = await rotate(id);
      expect([status, body]).toEqual([200, { secret: WHOLE_SECRET }]);
      expect(body.secret).not.toBe(first);
      expect(await secretsOf(id)).toEqual([body.secret, first]);
      const until = Number((await stored(id))?.previousSecrets[0].until);
      expect(until).toBeGreaterThanOrEqual(before + DAY_MS);
      expect(until).toBeLessThanOrEqual(Date.now() + DAY_MS);
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

    it('changes the ETag, and is a 404 if there is no subscription', async () => {
      const id = await create();
      const before = (await get(id)).headers.get('etag');
      await rotate(id);
      expect((await get(id)).headers.get('etag')).not.toBe(before);
      expectNotFound(await rotate(NOBODY), `${PATH}/${NOBODY}/rotate-secret`, 'Subscription');
    });
  });

  describe('Idempotency-Key', () => {
    const expectReplay = ({ status, headers, body }: TestResponse, ...expected: [number, object]) =>
      expect([headers.get('idempotency-replayed'), status, body]).toEqual(['true', ...expected]);

    it('replays a create without its secret', async () => {
      for (const headers of [key('a'), { ...key('b'), ...REPRESENTATION }]) {
        const { secret, ...rest } = await created(headers);
        expect(secret).toEqual(WHOLE_SECRET);
        expectReplay(await post(HOOK, headers), 201, rest);
      }
      expect(await count()).toBe(2);
    });

    it('replays a rotation without its secret, and rotates once', async () => {
      const id = await create();
      const first = await rotate(id, key('k1'));
      expectReplay(await rotate(id, key('k1')), 200, {});
      expect((await stored(id))?.secret).toBe(first.body.secret);
    });

    it('finds the result of an attempt that died before its answer', async () => {
      const { _id, secret } = await created(key('c'));
      const { body } = await rotate(_id, key('r'));
      await forgetAnswers(app);
      expect((await rotate(_id, key('r'))).body).toEqual(body);
      expect(await secretsOf(_id)).toEqual([body.secret, secret]);
      const latest = await rotated(_id);
      await forgetAnswers(app);
      expect((await rotate(_id, key('r'))).body).toEqual(body);
      expect(await created(key('c'))).toEqual({ _id, secret: latest });
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
