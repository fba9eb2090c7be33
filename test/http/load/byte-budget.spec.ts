import { Socket } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { ByteBudget } from '../../../src/common/http/byte-budget.js';

/** What one client may have of the memory: half of it. */
const HALF = 64 * 1_048_576;
const MAX_WAITING = 200;

const requestOf = (ip: string) => ({ ip, raw: { socket: new Socket() } }) as unknown as FastifyRequest;

describe('the memory of large answers', () => {
  /** A budget that two clients have taken as a whole, and what becomes of those that wait. */
  async function fullBudget() {
    const budget = new ByteBudget();
    const held = await Promise.all(['a', 'b'].map((client) => budget.reserve(requestOf(client), HALF)));
    const events: string[] = [];
    const wait = (client: string) =>
      budget.reserve(requestOf(client), HALF).then(
        (reservation) => {
          events.push(client);
          reservation.release();
        },
        ({ code }: { code: string }) => void events.push(`${client} ${code}`),
      );
    const release = () => held.forEach((reservation) => reservation.release());
    return { wait, release, events };
  }

  const waitOften = (wait: (client: string) => Promise<void>, client: string, times: number) =>
    Array.from({ length: times }, () => wait(client));

  it('is given to clients in turn', async () => {
    const { wait, release, events } = await fullBudget();
    const waiting = [...waitOften(wait, 'a', 3), ...waitOften(wait, 'b', 3), wait('c')];
    release();
    await Promise.all(waiting);
    expect(events).toHaveLength(7);
    expect(events.indexOf('c')).toBeLessThan(3);
  });

  it('can be waited for by a client even if another one has taken all waiting places', async () => {
    const { wait, release, events } = await fullBudget();
    const waiting = waitOften(wait, 'a', MAX_WAITING);
    waiting.push(wait('c'));
    await Promise.resolve();
    expect(events).toEqual([]);
    release();
    await Promise.all(waiting);
    expect(events.filter((event) => event === 'a TOO_MANY_REQUESTS')).toHaveLength(1);
    expect(events).toContain('c');
    expect(events.indexOf('c')).toBeLessThan(4);
  });

  it('refuses a client more waiting places than the others have, once all are taken', async () => {
    const { wait, release, events } = await fullBudget();
    const waiting = [...waitOften(wait, 'a', MAX_WAITING - 50), ...waitOften(wait, 'b', 50)];
    await wait('a');
    expect(events).toEqual(['a TOO_MANY_REQUESTS']);
    waiting.push(...waitOften(wait, 'b', 50));
    await waiting[MAX_WAITING - 51];
    // From now on they have equally many.
    await wait('b');
    await wait('a');
    release();
    await Promise.all(waiting);
    const refused = (client: string) =>
      events.filter((event) => event === `${client} TOO_MANY_REQUESTS`).length;
    expect([refused('a'), refused('b')]).toEqual([52, 1]);
  });

  it('tells a client that is alone, or has few requests, that the service is overloaded', async () => {
    const { wait, release, events } = await fullBudget();
    const waiting = waitOften(wait, 'a', MAX_WAITING);
    await wait('a');
    expect(events).toEqual(['a OVERLOADED']);
    release();
    await Promise.all(waiting);

    const many = await fullBudget();
    const others = Array.from({ length: MAX_WAITING }, (_, i) => many.wait(`client ${i}`));
    await many.wait('one more');
    expect(many.events).toEqual(['one more OVERLOADED']);
    many.release();
    await Promise.all(others);
  });

  it('is available at once, if it is free, to a client without waiting requests', async () => {
    const budget = new ByteBudget();
    const held = await budget.reserve(requestOf('a'), HALF);
    const waiting = budget.reserve(requestOf('a'), HALF);
    expect(['a', 'b'].map((client) => budget.isFree(requestOf(client), HALF))).toEqual([false, true]);
    held.release();
    (await waiting).release();
    expect(budget.isFree(requestOf('a'), HALF)).toBe(true);
  });
});
