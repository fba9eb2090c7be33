import { expectInvalid, expectNotFound, expectUnauthenticated } from '../../test/support/problems.js';
import { useResourceApp } from '../../test/support/resource-app.js';
import { ACME, acme, globex } from '../../test/support/tenants.js';
import { KEPT, postWhole } from '../../test/support/whole-records.js';
import { EventsModule } from './events.module.js';

const PARTY = {
  title: 'Summer party',
  starts: '2026-07-01T18:00:00.000Z',
  length: 240,
  place: { name: 'Town hall', latitude: 52.52, longitude: 13.4 },
  guests: ['ada@example.com', 'bob@example.com'],
  notes: { dress: 'casual', 'bring along': 'cake' },
};

describe('events', () => {
  const app = useResourceApp(EventsModule);
  beforeEach(() => app.empty());

  it('come back as they were sent, the map as an object', async () => {
    const { status, body } = await postWhole(app, '/gatherings', PARTY, acme);
    expect(status).toBe(201);
    expect(body).toEqual({ ...PARTY, ...KEPT, tenant: ACME });
    expect((await app.get(`/gatherings/${body._id}`, { token: acme })).body).toEqual(body);
    expect((await app.get('/gatherings', { token: acme })).body).toEqual([body]);
  });

  it('have the defaults of their schema', async () => {
    const { body } = await postWhole(app, '/gatherings', { title: 'Talk', starts: PARTY.starts }, acme);
    expect(body).toEqual({ ...KEPT, title: 'Talk', starts: PARTY.starts, length: 60, tenant: ACME });
  });

  it('take a change of one entry of the map, and of one member of the place', async () => {
    const { _id } = (await app.post('/gatherings', PARTY, { token: acme })).body;
    const changes = { notes: { dress: null, music: 'jazz' }, place: { name: 'Garden' }, length: null };
    expect((await app.patch(`/gatherings/${_id}`, changes, { token: acme })).body).toEqual({ updated: true });
    expect((await app.get(`/gatherings/${_id}`, { token: acme })).body).toEqual({
      ...KEPT,
      ...PARTY,
      _id,
      length: 60,
      place: { ...PARTY.place, name: 'Garden' },
      notes: { 'bring along': 'cake', music: 'jazz' },
      tenant: ACME,
    });
  });

  it('refuse what does not fit in the words of class-validator', async () => {
    const body = {
      title: '',
      starts: 'soon',
      length: '60',
      place: { name: 'Town hall', latitude: 91, longitude: 13.4, floor: 2 },
      guests: ['ada'],
      notes: 'none',
    };
    expectInvalid(
      await app.post('/gatherings', body, { token: acme }),
      '/gatherings',
      {
        pointer: '/starts',
        detail:
          '"starts" must be an RFC 3339 timestamp, to the millisecond at most, such as 2026-01-31T09:00:00.000Z.',
      },
      { pointer: '/length', detail: '"length" must be a whole number.' },
      {
        pointer: '/place/floor',
        detail: '"floor" is not an input field. Allowed: name, latitude, longitude.',
      },
      { pointer: '/title', detail: 'title must be longer than or equal to 1 characters' },
      { pointer: '/place/latitude', detail: 'latitude must be a latitude string or number' },
      { pointer: '/guests', detail: 'each value in guests must be an email' },
      { pointer: '/notes', detail: 'notes must be an object' },
    );
  });

  it('refuse an entry of the map that is no text', async () => {
    const fault = { pointer: '/notes/seats', detail: '"notes.seats" must be a string.' };
    const notes = { seats: 12 };
    expectInvalid(await app.post('/gatherings', { ...PARTY, notes }, { token: acme }), '/gatherings', fault);
    const path = `/gatherings/${(await app.post('/gatherings', PARTY, { token: acme })).body._id}`;
    expectInvalid(await app.patch(path, { notes }, { token: acme }), path, {
      pointer: '/notes',
      detail: 'Every entry of "notes" must be a string.',
    });
  });

  it('are there for their tenant only', async () => {
    const path = `/gatherings/${(await app.post('/gatherings', PARTY, { token: acme })).body._id}`;
    expectNotFound(await app.get(path, { token: globex }), path, 'Event');
    expectNotFound(await app.patch(path, { title: 'Mine' }, { token: globex }), path, 'Event');
    expectNotFound(await app.del(path, { token: globex }), path, 'Event');
    expectUnauthenticated(await app.get('/gatherings'), '/gatherings');
    expect((await app.del(path, { token: acme })).body).toEqual({ deleted: true });
  });
});
