import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { retryDelayMs } from '../../../src/common/notifications/deliveries/delivery.entity.js';
import { signedHeaders } from '../../../src/common/notifications/webhooks/webhook-sender.js';

const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`;

describe('the signature of a webhook', () => {
  const body = JSON.stringify({ type: 'posts.created', data: { title: 'Grüße, 世界 🌍', content: 'a.b' } });
  const id = 'evt_665f1c2ab7e3a90d4c8b4567';
  const headersFor = (...secrets: string[]) => signedHeaders({ id, body, secrets }, new Date());

  it('is verified by the library of Standard Webhooks', () => {
    const secret = newSecret();
    expect(new Webhook(secret).verify(body, headersFor(secret))).toEqual(JSON.parse(body));
  });

  it('is made with every secret, so that each one verifies it during a rotation', () => {
    const [current, previous] = [newSecret(), newSecret()];
    const headers = headersFor(current, previous);
    expect(headers['webhook-signature']).toMatch(/^v1,\S{44} v1,\S{44}$/);
    for (const secret of [current, previous]) {
      expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body));
    }
  });

  it('is not valid for another secret, body, id or time', () => {
    const secret = newSecret();
    const headers = headersFor(secret);
    const verify = (key: string, text: string, others: object) => () =>
      new Webhook(key).verify(text, { ...headers, ...others });
    expect(verify(newSecret(), body, {})).toThrow('No matching signature');
    expect(verify(secret, `${body} `, {})).toThrow('No matching signature');
    expect(verify(secret, body, { 'webhook-id': 'evt_2' })).toThrow('No matching signature');
    const later = String(Number(headers['webhook-timestamp']) + 1);
    expect(verify(secret, body, { 'webhook-timestamp': later })).toThrow('No matching signature');
  });
});

describe('the schedule of attempts', () => {
  const SECOND = 1_000;
  const delays = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];

  it.each(delays.map((seconds, i) => [i + 1, seconds]))(
    'waits after %d failures for %d s',
    (failed, seconds) => {
      expect(retryDelayMs(failed, 0)).toBe(seconds * SECOND);
      expect(retryDelayMs(failed, 1)).toBeCloseTo(seconds * SECOND * 1.1);
      expect(retryDelayMs(failed)).not.toBe(retryDelayMs(failed));
    },
  );

  it('ends after the tenth attempt', () => {
    expect(retryDelayMs(10)).toBeUndefined();
    expect(retryDelayMs(15)).toBeUndefined();
  });
});
