import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Prop, Schema } from '@nestjs/mongoose';
import type { FastifyRequest } from 'fastify';
import { Types } from 'mongoose';
import { CrudModule } from '../../../src/common/crud/index.js';
import { currentTenant } from '../../../src/common/tenancy/index.js';
import { bulk, create, NoteInput, results } from '../../support/bulk.js';
import { createResourceApp } from '../../support/resource-app.js';
import { ACME, tokenOf } from '../../support/tenants.js';

@Schema({ timestamps: true })
class Ticket extends NoteInput {
  @Prop({ type: Types.ObjectId }) tenant?: Types.ObjectId;
}

const seen: boolean[] = [];

/** Guards run before there is a scope. */
@Injectable()
class ScopeWatcher implements CanActivate {
  canActivate(context: ExecutionContext) {
    seen.push(context.switchToHttp().getRequest<FastifyRequest>().tenantScope !== undefined);
    return true;
  }
}

it('a decision about a bulk request does not apply to its items', async () => {
  const app = await createResourceApp(
    CrudModule.forFeature(
      {
        entity: Ticket,
        input: NoteInput,
        name: 'tickets',
        bulk: true,
        isolationFields: { all: { tenant: currentTenant } },
        routes: { create: { guards: [ScopeWatcher] } },
      },
      { providers: [ScopeWatcher] },
    ),
  );
  const token = await tokenOf(ACME);
  await app.post('/tickets', { text: 'A' }, { token });
  expect(results(await bulk(app, '/tickets', [create('B'), create('C')], token))).toEqual([201, 201]);
  expect(seen).toEqual([false, false, false]);
  await app.close();
});
