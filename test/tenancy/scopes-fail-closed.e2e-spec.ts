/** @mongodb */
import { Controller, Get, SetMetadata, UseInterceptors } from '@nestjs/common';
import { Prop, Schema } from '@nestjs/mongoose';
import { CrudModule } from '../../src/common/crud/index.js';
import { IsText } from '../../src/common/fields/index.js';
import { CurrentScope, TenantInterceptor, type TenantScope } from '../../src/common/tenancy/index.js';
import { ISOLATION } from '../../src/common/tenancy/tenant.guard.js';
import { useResourceApp } from '../support/resource-app.js';
import { acme } from '../support/tenants.js';

class MemoInput {
  @IsText({ max: 80 }) text!: string;
}

@Schema({ timestamps: true })
class Memo extends MemoInput {
  @Prop({ type: String }) owner?: string;
}

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

/** Isolated by halves: the interceptor, without the guard that decides who calls. */
@SetMetadata(ISOLATION, () => ({}))
@UseInterceptors(TenantInterceptor)
@Controller('half')
class HalfController {
  @Get()
  get() {
    ran++;
    return {};
  }
}

class MistakenModule {}

describe('a mistake in isolation', () => {
  const isolationFields = { all: { owner: () => undefined } };
  const app = useResourceApp(
    { module: MistakenModule, controllers: [BareController, HalfController] },
    CrudModule.forFeature({ entity: Memo, input: MemoInput, name: 'memos', isolationFields }),
  );
  beforeEach(() => void (ran = 0));

  it.each(['bare', 'half'])('runs no handler: /%s', async (path) => {
    // No document has these routes.
    const response = await fetch(`${app.url}/${path}`);
    expect(response.status).toBe(500);
    expect(ran).toBe(0);
  });

  it('reaches no record if a source has no value', async () => {
    await app.database.collection('memos').insertOne({ text: 'A', createdAt: new Date(0) });
    for (const response of [
      await app.get('/memos', { token: acme }),
      await app.get('/memos/count', { token: acme }),
      await app.post('/memos', { text: 'B' }, { token: acme }),
    ]) {
      expect([response.status, response.body.code]).toEqual([401, 'UNAUTHENTICATED']);
    }
    expect(await app.database.collection('memos').countDocuments()).toBe(1);
  });
});
