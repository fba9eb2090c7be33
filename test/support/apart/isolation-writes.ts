import type { TestResponse as Answer } from '../test-app.js';
import { type Body, IsolationChecks, type Operation } from './isolation-checks.js';
import { SURFACES } from './resources.js';
import type { Surface } from './surfaces.js';

/** Keys that are remembered. */
const MAX_KEYED = 200;

/** A create that was sent with an `Idempotency-Key`. */
interface Keyed {
  readonly key: string;
  readonly path: string;
  readonly body: Body;
}

/** The writes, single and in batches, with keys and tags of whomever. */
export abstract class IsolationWrites extends IsolationChecks {
  private readonly keyed: Keyed[] = [];
  /** The answers to keys, by key, path and whoever shares its keys. */
  private readonly kept = new Map<string, Answer>();
  private keys = 0;

  protected async create(operation: Operation): Promise<void> {
    const body = this.body(operation);
    if (this.random.chance(0.6))
      return this.expectCreated(operation, body, await this.send('POST', operation, '', { body }));
    const keyed = { key: `key-${++this.keys}`, path: operation.path, body };
    this.keyed.push(keyed);
    if (this.keyed.length > MAX_KEYED) this.keyed.shift();
    await this.sendKeyed(operation, keyed);
  }

  /** A key of this caller or of another one. */
  protected async replay({ caller }: Operation): Promise<void> {
    if (this.keyed.length === 0) return;
    const keyed = this.random.pick(this.keyed);
    const [, root, vault] = keyed.path.split('/');
    const surface = SURFACES.find(
      ({ path }) => path.split('/').length === keyed.path.split('/').length && path.startsWith(`/${root}`),
    ) as Surface;
    const at = { path: keyed.path, ...(surface.name === 'cards' && { vault }) };
    await this.sendKeyed({ surface, caller, ...at }, keyed);
  }

  /** A key has an answer for those who share it, and for nobody else. */
  private async sendKeyed(operation: Operation, { key, path, body }: Keyed): Promise<void> {
    const answer = await this.send('POST', operation, '', { body, key });
    const { surface, caller } = operation;
    const space = surface.name === 'todos' ? '' : `${caller.tenant}/${caller.sub}`;
    const known = this.kept.get(`${key} ${path} ${space}`);
    const isReplayed = answer.headers.has('idempotency-replayed');
    const isTurnedAway = this.model.refusal(surface.name, caller, true) !== undefined;
    const isRight = isReplayed === (known !== undefined && !isTurnedAway);
    this.expect(isRight, `${key} of ${space} is replayed to whom it belongs`, answer);
    if (!isReplayed) {
      this.expectCreated(operation, body, answer);
      if (!isTurnedAway) this.kept.set(`${key} ${path} ${space}`, answer);
    } else this.expect(known?.text === answer.text, `the replay of ${key} is ${known?.text}`, answer);
  }

  protected async update(operation: Operation): Promise<void> {
    const target = this.targetIn(operation);
    if (!target) return;
    const body = this.body(operation);
    const tag = this.random.pick([undefined, undefined, '*', '"0"', '"1"', '"0", "1", "2", "3"']);
    const answer = await this.send('PATCH', operation, `/${target.id}`, { body, tag });
    this.expectWritten(operation, target, answer, { tag, body });
  }

  protected async del(operation: Operation): Promise<void> {
    const target = this.targetIn(operation);
    if (!target) return;
    const tag = this.random.pick([undefined, undefined, '*', '"0"']);
    const answer = await this.send('DELETE', operation, `/${target.id}`, { tag });
    this.expectWritten(operation, target, answer, { tag });
  }

  protected async restore(operation: Operation): Promise<void> {
    const surface = this.random.pick(SURFACES.filter(({ archive }) => archive));
    const target = this.targetOf(surface.name);
    if (!target) return;
    const restoring = { surface, caller: operation.caller, path: surface.path };
    const answer = await this.send('POST', restoring, `/${target.id}/restore`, {});
    const isArchived = target.isArchived && this.model.isOwn(target, operation.caller);
    const expected = this.refusal(restoring, true) ?? (isArchived ? 200 : 404);
    this.expectStatus('restore', restoring, answer, expected);
    if (answer.status === 200) target.isArchived = false;
  }

  protected async bulk(operation: Operation): Promise<void> {
    if (!operation.surface.batches.includes('bulk')) return;
    const targets = this.random
      .list(1, 4, () => this.targetIn(operation))
      .filter((target) => target !== undefined);
    const items = [...new Set(targets)].map((target) => {
      const body = this.body(operation);
      const _id = target.id;
      return this.random.pick([
        { action: 'create' as const, target, body, sent: { create: body } },
        { action: 'update' as const, target, body, sent: { update: { _id, changes: body } } },
        { action: 'del' as const, target, body, sent: { del: { _id } } },
      ]);
    });
    if (items.length === 0) return;
    const operations = items.map(({ sent }) => sent);
    const answer = await this.send('POST', operation, '/bulk', { body: { operations } });
    if (answer.status !== 200)
      return this.expectStatus('bulk', operation, answer, this.refusal(operation, true) ?? 200);
    for (const [i, { action, target, body }] of items.entries()) {
      const result = answer.body.results[i] as { status: number; _id?: string };
      const one = { ...answer, status: result.status, body: result };
      if (action === 'create') this.expectCreated(operation, body, one);
      else this.expectWritten(operation, target, one, { ...(action === 'update' && { body }) });
    }
  }

  protected async import(operation: Operation): Promise<void> {
    if (!operation.surface.batches.includes('import')) return;
    const bodies = this.random.list(1, 4, () => this.body(operation));
    const body = bodies.map((each) => JSON.stringify(each)).join('\n');
    const headers = { 'Content-Type': 'application/x-ndjson' };
    const answer = await this.send('POST', operation, '/import', { body, headers });
    if (answer.status !== 200)
      return this.expectStatus('import', operation, answer, this.refusal(operation, true) ?? 200);
    const results = answer.body as { status: number }[];
    for (const [i, each] of bodies.entries())
      this.expectCreated(operation, each, { ...answer, status: results[i]?.status ?? 0, body: results[i] });
  }
}
