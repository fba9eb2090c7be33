import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { BookingsModule } from '../../../examples/bookings/bookings.module.js';
import { LedgerModule } from '../../../examples/ledger/ledger.module.js';
import { PriceRulesModule } from '../../../examples/price-rules/price-rules.module.js';
import { ProfileModule } from '../../../examples/profile/profile.module.js';
import { describeCrudContract } from '../../../src/common/crud/testing/index.js';
import { claim, CrudModule, IsListOf, IsReference, IsText, unlessCaller } from '../../../src/index.js';
import { compareAnswers, PLATFORMS, useRunning } from '../../support/platforms.js';
import { feature, resource } from '../../support/resource.js';
import { ACME, GLOBEX, tokenOf } from '../../support/tenants.js';

const person = IsText({ max: 40 });

const owner = { owner: claim('sub') };
const workspaces = resource({
  name: 'workspaces',
  fields: {
    name: IsText({ max: 80 }),
    members: IsListOf(IsText({ max: 40 }), { max: 50, optional: true }),
  },
  kept: { owner: person },
  isolationFields: { all: { members: claim('sub') }, create: owner, del: owner },
});
/** What every member of a workspace reads and changes. */
const tasks = feature({
  name: 'tasks',
  path: 'workspaces/:workspaceId/tasks',
  parent: { entity: workspaces.entity, param: 'workspaceId', field: 'workspace' },
  fields: { text: IsText({ max: 200 }) },
  kept: { author: person, workspace: IsReference(() => workspaces.entity) },
  // The workspace decides who reads them.
  isolationFields: { all: unlessCaller(() => true, { author: claim('sub') }) },
  references: { workspace: { to: workspaces.entity, onDelete: 'cascade' } },
});

const imports = [
  ...[CrudModule.forFeature(workspaces), tasks],
  ...[BookingsModule, LedgerModule, PriceRulesModule, ProfileModule],
];
const ada = tokenOf(ACME, { sub: 'ada' });
const bob = tokenOf(GLOBEX, { sub: 'bob' });

describe.each(['Express', 'Fastify'] as const)('on %s', (platform) => {
  let endComparison: () => void;
  const running = useRunning(() => PLATFORMS[platform]({ imports }), ada);
  beforeAll(async () => {
    const document = new DocumentBuilder().addBearerAuth().build();
    endComparison = await compareAnswers(running.app, SwaggerModule.createDocument(running.app, document));
  });
  afterAll(() => endComparison());

  const asBob = { Authorization: `Bearer ${bob}` };
  const send: typeof running.send = (...request) => running.send(...request);
  const get = (path: string, headers?: Record<string, string>) => send('GET', path, undefined, headers);
  async function create(path: string, body: object): Promise<string> {
    const { status, body: created } = await send('POST', path, body);
    expect([path, status]).toEqual([path, 201]);
    return created._id as string;
  }

  describeCrudContract('price rules', {
    app: () => running.app,
    token: () => ada,
    otherToken: () => bob,
    path: '/price-rules',
    valid: { kind: 'weekday', name: 'Weekend', percent: 20, days: [6, 7] },
    changes: { percent: 30 },
    invalid: { 'no days': { kind: 'weekday', name: 'Weekend', percent: 20 } },
  });

  it('tasks belong to the members of their workspace', async () => {
    const workspace = `/workspaces/${await create('/workspaces', { name: 'Shop' })}`;
    const path = `${workspace}/tasks`;
    await create(path, { text: 'Paint the door' });
    expect((await get(path, asBob)).status).toBe(404);
    expect((await get(path, { Authorization: '' })).status).toBe(401);
    await send('PATCH', workspace, { members: ['ada', 'bob'] });
    expect((await get(path, asBob)).body).toMatchObject([{ text: 'Paint the door' }]);
    expect((await send('DELETE', workspace, undefined, asBob)).status).toBe(404);
  });

  it('bookings do not overlap', async () => {
    const room = await create('/rooms', { name: 'Attic' });
    const booking = (day: number) => ({
      room,
      from: `2027-05-0${day}T14:00:00.000Z`,
      until: `2027-05-0${day + 2}T10:00:00.000Z`,
    });
    await create('/bookings', booking(1));
    expect((await send('POST', '/bookings', booking(2))).status).toBe(409);
    await create('/bookings', booking(3));
    expect((await get('/bookings/count')).body).toEqual({ count: 2 });
  });

  it('the ledger moves cents, or nothing', async () => {
    const [from, to] = [await create('/accounts', { name: 'a' }), await create('/accounts', { name: 'b' })];
    await send('POST', `/accounts/${from}/deposit`, { cents: 100 });
    await create('/transfers', { from, to, amount: 60 });
    expect((await send('POST', '/transfers', { from, to, amount: 60 })).status).toBe(409);
    expect((await get('/accounts?sort=name')).body).toMatchObject([{ balance: 40 }, { balance: 60 }]);
  });

  it('price rules have an order', async () => {
    const rule = { kind: 'weekday', name: 'x', percent: 1, days: [1] };
    const ids = [await create('/price-rules', rule), await create('/price-rules', rule)];
    const ordered = await send('PUT', '/price-rules/order', { rules: ids.toReversed() });
    expect(ordered.body).toEqual({ updated: true });
    expect((await get(`/price-rules/${ids[0]}`)).body.position).toBe(1);
  });

  it('the profile is that of the caller', async () => {
    const { body } = await send('PATCH', '/profile', { name: 'Ada' });
    expect(body).toMatchObject({ owner: 'ada', name: 'Ada' });
    expect((await get('/profile', asBob)).body).not.toHaveProperty('name');
  });
});
