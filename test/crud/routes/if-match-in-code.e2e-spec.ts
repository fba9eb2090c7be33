/** @mongodb */
import { Injectable, Param } from '@nestjs/common';
import { CrudAction, CrudController, CrudModule, CrudService } from '../../../src/index.js';
import { CurrentScope, IsText, type TenantScope } from '../../../src/index.js';
import { OF_TENANT, resource } from '../../support/resource.js';
import { useResourceApp } from '../../support/resource-app.js';
import { acme, globex } from '../../support/tenants.js';

const gates = resource({
  name: 'gates',
  fields: { name: IsText({ max: 20 }), state: IsText({ max: 20, optional: true }) },
  ...OF_TENANT,
});

@Injectable()
class GatesService extends CrudService.for(gates) {
  async paint(scope: TenantScope, id: string) {
    await this.update(scope, id, { state: 'wet' });
    return this.change('update', scope, id, { set: { state: 'dry' } });
  }

  async replace(scope: TenantScope, id: string) {
    const painted = await this.atomically(scope, (work) => this.paint(work, id));
    await this.update(scope, id, { name: 'New' });
    await this.del(scope, id);
    return painted;
  }
}
class GatesController extends CrudController(gates, GatesService) {
  @CrudAction(gates, { method: 'PUT', path: ':id/paint', isolatedAs: 'update' })
  paint(@CurrentScope() scope: TenantScope, @Param('id') id: string) {
    return this.service.paint(scope, id);
  }
  @CrudAction(gates, { method: 'PUT', path: ':id/paint-at-once', isolatedAs: 'update' })
  paintAtOnce(@CurrentScope() scope: TenantScope, @Param('id') id: string) {
    return this.service.atomically(scope, (work) => this.service.paint(work, id));
  }
  @CrudAction(gates, { method: 'PUT', path: ':id/look', isolatedAs: 'update' })
  look(@CurrentScope() scope: TenantScope, @Param('id') id: string) {
    return this.service.get(scope, id);
  }
  @CrudAction(gates, { method: 'PUT', path: ':id/replace', isolatedAs: 'update' })
  replace(@CurrentScope() scope: TenantScope, @Param('id') id: string) {
    return this.service.replace(scope, id);
  }
}

describe('If-Match on a route of your own', () => {
  const app = useResourceApp(
    CrudModule.forFeature(gates, { controller: GatesController, service: GatesService }),
  );
  it.each(['paint', 'paint-at-once', 'replace'])('means the record before all writes: %s', async (route) => {
    const id = await app.create('/gates', { name: 'North' }, acme);
    const put = (tag: string) =>
      app.request('PUT', `/gates/${id}/${route}`, { token: acme, headers: { 'If-Match': tag } });
    expect((await put('"1"')).status).toBe(412);
    expect((await app.get(`/gates/${id}`, { token: acme })).body).not.toHaveProperty('state');
    const { status, body, headers } = await put('"0"');
    expect([status, body.state, headers.get('etag')]).toEqual([200, 'dry', '"2"']);
  });

  it('is asked for where the route writes nothing, and finds no record of others', async () => {
    const id = await app.create('/gates', { name: 'North' }, acme);
    const look = async (tag: string, token = acme) =>
      (await app.request('PUT', `/gates/${id}/look`, { token, headers: { 'If-Match': tag } })).status;
    expect([await look('"1"'), await look('"0"'), await look('"1"', globex)]).toEqual([412, 200, 404]);
  });
});
