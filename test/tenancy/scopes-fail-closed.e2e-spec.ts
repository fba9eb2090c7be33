import { Controller, Get, Req } from '@nestjs/common';
import { Prop } from '@nestjs/mongoose';
import type { HttpRequest } from '../../src/common/request/index.js';
import { applyScope, CurrentScope, type TenantScope } from '../../src/common/tenancy/index.js';
import { requestsOf } from '../support/requests-of.js';
import { feature } from '../support/resource.js';
import { useResourceApp } from '../support/resource-app.js';
import { acme } from '../support/tenants.js';

let ran = 0;

/** Not isolated, and asks for a scope all the same. */
@Controller('bare')
class BareController {
  @Get()
  get(@CurrentScope() scope: TenantScope) {
    ran++;
    return { scope: String(scope) };
  }
}

/** Isolated by halves: it makes its scope, without the guard that decides who calls. */
@Controller('half')
class HalfController {
  @Get()
  get(@Req() request: HttpRequest) {
    applyScope(request, {});
    ran++;
    return {};
  }
}

class MistakenModule {}

describe('a mistake in isolation', () => {
  const app = useResourceApp(
    { module: MistakenModule, controllers: [BareController, HalfController] },
    feature({
      name: 'memos',
      kept: { owner: Prop({ type: String }) },
      isolationFields: { all: { owner: () => undefined } },
    }),
  );
  beforeEach(() => void (ran = 0));

  it.each(['bare', 'half'])('runs no handler: /%s', async (path) => {
    // No document has these routes.
    expect([(await fetch(`${app.url}/${path}`)).status, ran]).toEqual([500, 0]);
  });

  it('reaches no record if a source has no value', async () => {
    await app.database.collection('memos').insertOne({ text: 'A', createdAt: new Date(0) });
    const { send } = requestsOf(app, acme);
    const answers = [
      send('GET', '/memos'),
      send('GET', '/memos/count'),
      send('POST', '/memos', { text: 'B' }),
    ];
    for (const { status, body } of await Promise.all(answers))
      expect([status, body.code]).toEqual([401, 'UNAUTHENTICATED']);
    expect(await app.database.collection('memos').countDocuments()).toBe(1);
  });
});
