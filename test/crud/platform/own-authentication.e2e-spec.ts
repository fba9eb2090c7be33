import { type CallHandler, type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import { Prop } from '@nestjs/mongoose';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { delayWhen } from 'rxjs';
import { fromRequest, IsIdentifier, type SignedInRequest } from '../../../src/index.js';
import { eventually } from '../../support/eventually.js';
import { PLATFORMS, useRunning } from '../../support/platforms.js';
import { each } from '../../support/records.js';
import { feature } from '../../support/resource.js';

/** Knows the users of the application by their sessions, which are no tokens. */
@Injectable()
class SessionGuard implements CanActivate {
  canActivate(context: ExecutionContext) {
    const request = context.switchToHttp().getRequest<SignedInRequest & { user?: object }>();
    const { 'x-session': session } = request.headers;
    if (session !== undefined) request.user = { account: JSON.parse(String(session)) as unknown };
    return true;
  }
}

const held: (() => void)[] = [];
const intercept = (context: ExecutionContext, next: CallHandler) => {
  const { headers } = context.switchToHttp().getRequest<SignedInRequest>();
  const isHeld = headers['x-held'] !== undefined;
  return isHeld
    ? next.handle().pipe(delayWhen(() => new Promise<void>((go) => held.push(go))))
    : next.handle();
};

const bills = feature({
  name: 'bills',
  kept: { account: IsIdentifier(), closedAt: Prop({ type: Date }) },
  isolationFields: { all: { account: fromRequest(({ user }) => user?.account) } },
  security: 'session',
  archive: { field: 'closedAt' },
  bulk: true,
  import: true,
});

const [ADA, BOB] = ['665f1c2ab7e3a90d4c8b00a1', '665f1c2ab7e3a90d4c8b00b2'];
const of = (account: unknown) => ({ 'X-Session': JSON.stringify(account) });

describe.each(['Express', 'Fastify', 'createCrudApp'] as const)('an own session on %s', (platform) => {
  const providers = [
    { provide: APP_GUARD, useClass: SessionGuard },
    { provide: APP_INTERCEPTOR, useValue: { intercept } },
  ];
  const running = useRunning(() => PLATFORMS[platform]({ imports: [bills], providers }), 'none of ours');
  const send: typeof running.send = (...request) => running.send(...request);
  const post = (text: string, headers: Record<string, string>) => send('POST', '/bills', { text }, headers);

  it('isolates records by what a guard of the application has found out', async () => {
    const { _id } = (await post('rent', of(ADA))).body as { _id: string };
    const path = `/bills/${_id}`;
    expect((await send('GET', path, undefined, of(ADA))).body).toMatchObject({ text: 'rent', account: ADA });
    const others = await Promise.all([
      send('GET', path, undefined, of(BOB)),
      send('PATCH', path, { text: 'mine' }, of(BOB)),
      send('DELETE', path, undefined, of(BOB)),
    ]);
    expect(others.map(({ status }) => status)).toEqual([404, 404, 404]);
    const operations = [{ update: { _id, changes: { text: 'x' } } }, { create: { text: 'y' } }];
    const bulk = await send('POST', '/bills/bulk', { operations }, of(BOB));
    expect(bulk.body.results).toMatchObject([{ status: 404 }, { status: 201 }]);
    const textsOf = async (account: string) =>
      each((await send('GET', '/bills', undefined, of(account))).body, 'text');
    expect([await textsOf(ADA), await textsOf(BOB)]).toEqual([['rent'], ['y']]);
  });

  it('leaves lists to each account, whatever another one at the same address is reading', async () => {
    const list = (account: string, headers = {}) =>
      send('GET', '/bills', undefined, { ...of(account), ...headers });
    const lists = Array.from({ length: 16 }, () => list(ADA, { 'X-Held': 'yes' }));
    await eventually(() => {
      expect(held).toHaveLength(16);
    });
    const others = [(await list(ADA)).status, (await list(BOB)).status];
    for (const go of held.splice(0)) go();
    expect(others).toEqual([429, 200]);
    expect((await Promise.all(lists)).map(({ status }) => status)).toEqual(Array(16).fill(200));
  });

  it('keeps the answers to the keys of two accounts apart', async () => {
    const key = { 'Idempotency-Key': 'one-key' };
    const keyed = (account: string) => post('keyed', { ...key, ...of(account) });
    const [first, other, again] = [await keyed(ADA), await keyed(BOB), await keyed(ADA)];
    expect([first.status, other.status, again]).toMatchObject([201, 201, { status: 201, body: first.body }]);
    expect(other.body._id).not.toBe(first.body._id);
  });

  it.each([
    ['no session', {}],
    ['a session without an account', of(null)],
    ['an empty account', of('')],
    ['an account of another type', of(1)],
    ['an operator in place of an account', of({ $ne: null })],
    ['a list of accounts', of([ADA, BOB])],
  ])('answers %s with 401, and asks for no token', async (_case, headers) => {
    for (const [method, path, body] of [
      ['GET', '/bills'],
      ['POST', '/bills', { text: 'a' }],
      ['GET', `/bills/${ADA}`],
      ['GET', '/bills/count'],
      ['POST', `/bills/${ADA}/restore`],
    ] as [string, string, object?][]) {
      const answer = await send(method, path, body, headers);
      expect([answer.status, answer.body.code]).toEqual([401, 'UNAUTHENTICATED']);
      expect([answer.headers.get('www-authenticate'), answer.text.includes('oken')]).toEqual([null, false]);
    }
  });

  it('names the scheme in the document', () => {
    const document = SwaggerModule.createDocument(running.app, new DocumentBuilder().build());
    const { get, post } = document.paths['/bills'] ?? {};
    for (const operation of [get, post]) {
      expect(operation?.security).toEqual([{ session: [] }]);
      expect(operation?.responses).toHaveProperty('401');
    }
    expect(JSON.stringify(get?.responses['401'])).not.toContain('INVALID_TOKEN');
  });
});
