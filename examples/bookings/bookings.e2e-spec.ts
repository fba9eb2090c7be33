/** @mongodb */
import { createResourceApp } from '../../test/support/resource-app.js';
import { ACME, tokenOf } from '../../test/support/tenants.js';
import type { TestApp } from '../../test/support/test-app.js';
import { BookingsModule } from './bookings.module.js';

describe('bookings', () => {
  let app: TestApp;
  let token: string;
  beforeAll(async () => {
    app = await createResourceApp(BookingsModule);
    token = await tokenOf(ACME);
  });
  afterAll(() => app.close());
  beforeEach(() => app.empty());

  const room = async () => (await app.post('/rooms', { name: 'Attic' }, { token })).body._id as string;
  /** Books a room from a day of May until another one. A busy machine may answer before it has booked. */
  async function book(id: string, from: number, until: number): Promise<number> {
    const day = (number: number) => new Date(Date.UTC(2027, 4, number)).toISOString();
    const body = { room: id, from: day(from), until: day(until) };
    const { status } = await app.post('/bookings', body, { token });
    return status === 503 ? book(id, from, until) : status;
  }

  it('of a room do not overlap, and those of another one do not matter', async () => {
    const [one, other] = [await room(), await room()];
    expect(await book(one, 10, 12)).toBe(201);
    const attempts = [
      book(one, 11, 13),
      book(one, 9, 11),
      book(one, 9, 13),
      book(one, 12, 14),
      book(other, 10, 12),
    ];
    expect(await Promise.all(attempts)).toEqual([409, 409, 409, 201, 201]);
    expect((await app.get('/bookings/count', { token })).body).toEqual({ count: 3 });
  });

  it('are made once, however many want the same days at once', async () => {
    const id = await room();
    const statuses = await Promise.all(Array.from({ length: 50 }, (_, i) => book(id, 1 + (i % 3), 5)));
    expect(statuses.filter((status) => status === 201).length).toBeLessThanOrEqual(1);
    expect((await app.get('/bookings/count', { token })).body).toEqual({ count: 1 });
  });
});
