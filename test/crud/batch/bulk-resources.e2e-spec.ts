/** @mongodb */
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Prop } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import { CrudModule } from '../../../src/common/crud/index.js';
import { IsReference } from '../../../src/common/fields/index.js';
import { currentTenant } from '../../../src/common/tenancy/index.js';
import { bulk, create, ids, NoteInput, NOWHERE, results } from '../../support/bulk.js';
import { expectProblem } from '../../support/problems.js';
import { createResourceApp, useResourceApp } from '../../support/resource-app.js';
import { acme, globex } from '../../support/tenants.js';
import { resource, feature } from '../../support/resource.js';

describe('a resource with some actions that need a token', () => {
  const app = useResourceApp(
    feature({
      name: 'memos',
      fields: NoteInput,
      kept: { tenant: Prop({ type: Types.ObjectId }) },
      isolationFields: { update: { tenant: currentTenant } },
      bulk: true,
    }),
  );

  it('answers each item by its own action', async () => {
    const _id = NOWHERE;
    const operations = [create('a'), { update: { _id, changes: {} } }, { del: { _id } }];
    expect(results(await bulk(app, '/memos', operations))).toEqual([
      201,
      '401 UNAUTHENTICATED',
      '404 RECORD_NOT_FOUND',
    ]);
    expect(results(await bulk(app, '/memos', operations, acme))).toEqual([
      201,
      '404 RECORD_NOT_FOUND',
      '404 RECORD_NOT_FOUND',
    ]);
  });

  it("never answers a caller with the result of another caller's key", async () => {
    const post = async (token?: string) => {
      const headers = { 'Idempotency-Key': 'k1' };
      const body = { operations: [create('a'), { update: { _id: NOWHERE, changes: {} } }] };
      const answer = await app.post('/memos/bulk', body, { token, headers });
      return { answer, isReplay: answer.headers.has('idempotency-replayed') };
    };
    const callers = [acme, globex, undefined];
    const answers = [];
    for (const token of callers) answers.push(await post(token));
    expect(answers.map(({ isReplay }) => isReplay)).toEqual([false, false, false]);
    expect(answers.map(({ answer }) => results(answer)[1])).toEqual([
      '404 RECORD_NOT_FOUND',
      '404 RECORD_NOT_FOUND',
      '401 UNAUTHENTICATED',
    ]);
    for (const [number, token] of callers.entries()) {
      const { answer, isReplay } = await post(token);
      expect([answer.text, isReplay]).toEqual([answers[number]?.answer.text, true]);
    }
    // A token that does not verify is none.
    expect((await post('no-token')).answer.text).toBe(answers[2]?.answer.text);
  });
});

describe('a resource below another one', () => {
  const shelves = resource({ name: 'shelves', class: 'Shelf', fields: NoteInput, bulk: true });
  const app = useResourceApp(
    CrudModule.forFeature(shelves),
    feature({
      name: 'books',
      path: 'shelves/:shelfId/books',
      parent: { entity: shelves.entity, param: 'shelfId', field: 'shelf' },
      fields: NoteInput,
      kept: { shelf: IsReference(() => shelves.entity) },
      bulk: true,
    }),
  );

  it('items are below the parent that the path names', async () => {
    const [one = '', two = ''] = ids(await bulk(app, '/shelves', [create('one'), create('two')]));
    const [id] = ids(await bulk(app, `/shelves/${one.toUpperCase()}/books`, [create('a')]));
    expect((await app.get(`/shelves/${one}/books/${id}`)).body).toMatchObject({ text: 'a', shelf: one });
    const elsewhere = await bulk(app, `/shelves/${two}/books`, [{ del: { _id: id } }]);
    expect(results(elsewhere)).toEqual(['404 RECORD_NOT_FOUND']);
    const missing = await bulk(app, `/shelves/${NOWHERE}/books`, [create('a')]);
    expect(missing.body.results[0]).toMatchObject({ status: 404, detail: 'Shelf not found' });
    const detail = 'The id must be 24 hexadecimal digits.';
    const errors = [{ parameter: 'shelfId', detail }];
    expectProblem(await bulk(app, '/shelves/x/books', [create('a')]), {
      status: 400,
      code: 'INVALID_ID',
      detail,
      instance: '/shelves/x/books/bulk',
      errors,
    });
  });
});

describe('without the option', () => {
  it.each([{}, { bulk: false }])('there is no such path: %j', async (options) => {
    const app = await createResourceApp(feature({ name: 'plain', fields: NoteInput, ...options }));
    try {
      const answered = await bulk(app, '/plain', [create('a')]);
      expect([answered.status, answered.body.code]).toEqual([405, 'METHOD_NOT_ALLOWED']);
    } finally {
      await app.close();
    }
  });
});

it('a decision about a bulk request does not apply to its items', async () => {
  const seen: boolean[] = [];
  /** Guards run before there is a scope. */
  @Injectable()
  class ScopeWatcher implements CanActivate {
    canActivate(context: ExecutionContext) {
      seen.push(context.switchToHttp().getRequest<FastifyRequest>().crudContext?.scope !== undefined);
      return true;
    }
  }
  const tickets = resource({
    name: 'tickets',
    fields: NoteInput,
    kept: { tenant: Prop({ type: Types.ObjectId }) },
    bulk: true,
    isolationFields: { all: { tenant: currentTenant } },
    routes: { create: { guards: [ScopeWatcher] } },
  });
  const app = await createResourceApp(CrudModule.forFeature(tickets, { providers: [ScopeWatcher] }));
  await app.post('/tickets', { text: 'A' }, { token: acme });
  expect(results(await bulk(app, '/tickets', [create('B'), create('C')], acme))).toEqual([201, 201]);
  expect(seen).toEqual([false, false, false]);
  await app.close();
});
