/**
 * @slow
 * @mongodb
 */
import { ownDatabase } from '../support/mongodb.js';
import { sendTo } from '../support/send-to.js';
import { useServices } from '../support/service-process.js';
import { ACME, TEST_SECRET, tokenOf } from '../support/tenants.js';

const KILLS = 3;
/** Answers before a kill, while as many requests as there are clients are under way. */
const ANSWERS = 40;
const CLIENTS = 8;
const DEPOSIT = 1_000_000;
const ROOMS = 4;

type Rule = { name: string; position: number };
type Booking = { room: string; from: string; until: string };

const token = tokenOf(ACME);

describe('units of work of the examples, when the process is killed in their midst', () => {
  const services = useServices();

  it('are there as a whole, or not at all', async () => {
    const env = { DATA_DIR: services.folder, JWT_SECRET: TEST_SECRET, PORT: '0', ...ownDatabase() };
    const start = () => services.spawn(env, ['scripts/start-examples.js']);
    let service = start();
    let url = await service.url();

    const request = (method: string, path: string, body?: object) =>
      sendTo(url, method, path, { body, token });
    const created = async (path: string, body: object) =>
      (await request('POST', path, body)).body._id as string;
    const [from = '', to = ''] = await Promise.all(
      ['One', 'Two'].map((name) => created('/accounts', { name })),
    );
    await request('POST', `/accounts/${from}/deposit`, { cents: DEPOSIT });
    const weekday = { kind: 'weekday', percent: 5, days: [6] };
    const rules: string[] = [];
    for (const name of ['a', 'b', 'c', 'd']) rules.push(await created('/price-rules', { ...weekday, name }));
    await request('PUT', '/price-rules/order', { rules });
    const rooms: string[] = [];
    for (let i = 0; i < ROOMS; i++) rooms.push(await created('/rooms', { name: `Room ${i}` }));

    /** Transfers and bookings that were acknowledged. */
    const acknowledged = { transfers: 0, bookings: 0 };
    let sent = 0;
    /** Sends one unit of work of each kind in turn. */
    async function work(): Promise<void> {
      const turn = sent++;
      if (turn % 3 === 0) {
        const { status } = await request('POST', '/transfers', { from, to, amount: 1 });
        if (status === 201) acknowledged.transfers++;
      } else if (turn % 3 === 1) {
        const first = turn % rules.length;
        const rotated = [...rules.slice(first), ...rules.slice(0, first)];
        await request('PUT', '/price-rules/order', { rules: rotated });
      } else {
        // Two in a row want overlapping days of a room.
        const pair = Math.floor(turn / 6);
        const at = (days: number) => new Date(Date.UTC(2027, 0, 1 + 2 * pair + (turn % 2) + days));
        const body = { room: rooms[pair % ROOMS], from: at(0), until: at(2) };
        const { status } = await request('POST', '/bookings', body);
        if (status === 201) acknowledged.bookings++;
      }
    }

    for (let kill = 1; kill <= KILLS; kill++) {
      let answers = 0;
      const client = async () => {
        while (answers < ANSWERS) {
          // The last ones get no answer.
          const isLost = await work().catch(() => true);
          if (isLost) return;
          if (++answers === ANSWERS) service.signal('SIGKILL');
        }
      };
      await Promise.all(Array.from({ length: CLIENTS }, client));
      await service.ended();
      service = start();
      url = await service.url();

      const balances = [await request('GET', `/accounts/${from}`), await request('GET', `/accounts/${to}`)];
      const { count: transfers } = (await request('GET', '/transfers/count')).body as { count: number };
      expect(transfers).toBeGreaterThanOrEqual(acknowledged.transfers);
      expect(balances.map(({ body }) => body.balance as number)).toEqual([DEPOSIT - transfers, transfers]);

      const order: Rule[] = (await request('GET', '/price-rules?sort=position')).body;
      const places = order.map(({ name, position }) => name + position).join('');
      expect(['a0b1c2d3', 'b0c1d2a3', 'c0d1a2b3', 'd0a1b2c3']).toContain(places);

      const bookings: Booking[] = (await request('GET', '/bookings?sort=from')).body;
      expect(bookings.length).toBeGreaterThanOrEqual(acknowledged.bookings);
      for (const room of rooms) {
        const own = bookings.filter((booking) => booking.room === room);
        expect(own.filter((booking, i) => booking.from < (own[i - 1]?.until ?? ''))).toEqual([]);
      }
    }
    // None of the kinds was always refused.
    expect(Object.values(acknowledged).every((count) => count > 0)).toBe(true);
  }, 120_000);
});
