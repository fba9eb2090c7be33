import { type CanActivate, type ExecutionContext, Injectable, UseGuards } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { CrudController, CrudModule } from '../../../src/common/crud/index.js';
import { currentTenant, type TenantScope } from '../../../src/common/tenancy/index.js';
import {
  AdminGuard,
  createGloballyGuardedApp,
  Roles,
  RolesGuard,
  SelfGuard,
} from '../../support/guarded-app.js';
import { useResourceApp } from '../../support/resource-app.js';
import { ACME, tokenOf } from '../../support/tenants.js';
import { resource, type Outline } from '../../support/resource.js';
import { IsText, IsIdentifier } from '../../../src/common/fields/index.js';

const [admin, member] = await Promise.all([tokenOf(ACME, { role: 'admin' }), tokenOf(ACME, { sub: 'ada' })]);

/** A resource of named records that belong to a tenant. */
const owned = (outline: Outline) =>
  resource({
    fields: { name: IsText({ max: 100 }) },
    kept: { tenant: IsIdentifier() },
    isolationFields: { all: { tenant: currentTenant } },
    query: { filter: ['name'], search: ['name'] },
    ...outline,
  });
const forbidden = { errors: [403] };
const adminsOnly = { guards: [AdminGuard], ...forbidden };
const ledgers = owned({ name: 'ledgers', routes: { get: { decorators: [Roles(['admin'])], ...forbidden } } });
const invoices = owned({ name: 'invoices', routes: { get: forbidden } });
const memos = owned({ name: 'memos', routes: { list: forbidden, count: forbidden } });

@UseGuards(RolesGuard)
class LedgersController extends CrudController(ledgers) {}

class InvoicesController extends CrudController(invoices) {
  @UseGuards(AdminGuard)
  override get(scope: TenantScope, id: string) {
    return super.get(scope, id, {});
  }
}

@UseGuards(SelfGuard)
class MemosController extends CrudController(memos) {}

/** Hides one record from everybody. */
@Injectable()
class VaultGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { params } = context.switchToHttp().getRequest<FastifyRequest<{ Params: { id: string } }>>();
    return params.id !== '665f1c2ab7e3a90d4c8bffff';
  }
}

const READS = ['', '?limit=1', '?q=a', '?name=A', '/count', '/count?name=A'];

const app = useResourceApp(
  CrudModule.forFeature(ledgers, { controller: LedgersController }),
  CrudModule.forFeature(invoices, { controller: InvoicesController, providers: [AdminGuard] }),
  CrudModule.forFeature(memos, { controller: MemosController }),
  ...[
    owned({ name: 'reports', routes: { get: adminsOnly } }),
    owned({ name: 'people', routes: { get: { guards: [SelfGuard], ...forbidden } } }),
    owned({ name: 'vaults', routes: { get: { guards: [VaultGuard], ...forbidden } } }),
    owned({ name: 'posters', routes: { get: adminsOnly, list: { guards: [] }, count: { guards: [] } } }),
    owned({ name: 'surveys', routes: { get: adminsOnly, count: { guards: [] } } }),
  ].map((options) => CrudModule.forFeature(options)),
);
beforeEach(() => app.empty());

/** The statuses of the reads of a resource that has one record. */
async function statuses(name: string, token: string): Promise<number[]> {
  await app.post(`/${name}`, { name: 'A' }, { token: admin });
  const answers = READS.map((read) => app.get(`/${name}${read}`, { token }));
  return (await Promise.all(answers)).map(({ status }) => status);
}

const every = (status: number) => READS.map(() => status);

describe('the guards of get', () => {
  it.each([
    ['of the option', 'reports'],
    ['of the controller, which decide by a decorator of the option', 'ledgers'],
    ['of an override', 'invoices'],
  ])('%s guard lists, pages, searches and counts', async (_guards, name) => {
    expect(await statuses(name, member)).toEqual(every(403));
    expect(await statuses(name, admin)).toEqual(every(200));
    const headers = { Accept: 'application/x-ndjson' };
    for (const [token, status] of [
      [member, 403],
      [admin, 200],
    ] as const) {
      expect((await app.get(`/${name}`, { token, headers })).status).toBe(status);
      expect((await app.request('HEAD', `/${name}`, { token })).status).toBe(status);
    }
  });

  it('of the application guard them, too', async () => {
    const global = await createGloballyGuardedApp();
    try {
      for (const [role, status] of [
        ['member', 403],
        ['admin', 200],
      ] as const) {
        const headers = { 'X-Role': role };
        const answers = ['/topics', '/topics?limit=1', '/topics/count'].map((path) =>
          global.get(path, { headers }),
        );
        expect((await Promise.all(answers)).map((answer) => answer.status)).toEqual([status, status, status]);
        expect((await global.get('/notes', { headers })).status).toBe(200);
      }
    } finally {
      await global.close();
    }
  });

  it('refuse a list if they look for the identifier, and decide about it if they do not', async () => {
    expect(await statuses('people', member)).toEqual(every(403));
    expect(await statuses('people', admin)).toEqual(every(200));
    expect(await statuses('vaults', admin)).toEqual(every(403));
  });

  it('leave lists and counts that have their own', async () => {
    expect(await statuses('posters', member)).toEqual(every(200));
    const counts = READS.map((read) => (read.startsWith('/count') ? 200 : 403));
    expect(await statuses('surveys', member)).toEqual(counts);
  });

  it('that are those of the whole controller decide about each route by itself', async () => {
    expect(await statuses('memos', admin)).toEqual(every(200));
    expect(await statuses('memos', member)).toEqual(every(403));
  });
});
