import mongoose from 'mongoose';
import type { Random } from '../random.js';
import type { TestApp, TestResponse as Answer } from '../test-app.js';
import { type Archived, type Caller, IsolationModel, type ModelRecord } from './isolation-model.js';
import { SURFACES } from './resources.js';
import { REFERENCES, type Surface } from './surfaces.js';
import { contentsOf } from './worlds.js';

const { ObjectId } = mongoose.mongo;

/** Records of one resource at a time; above, the oldest are taken out of database and model alike. */
const MAX_RECORDS = 30;

/** Where a request points, and who sends it. */
export interface Operation {
  surface: Surface;
  caller: Caller;
  path: string;
  /** The vault in the path of cards. */
  vault?: string;
}

export type Body = Record<string, unknown>;

/** What a request has besides its path. */
interface Parts {
  body?: Body | string;
  archived?: Archived;
  key?: string;
  tag?: string;
  headers?: Record<string, string>;
}

/** Sends requests, looks through every answer for what its caller may not see, and keeps the model up to date. */
export class IsolationChecks {
  readonly faults: string[] = [];
  /** How many requests were answered with each status. */
  readonly statuses = new Map<number, number>();
  protected readonly model = new IsolationModel();

  constructor(
    private readonly app: TestApp,
    protected readonly random: Random,
  ) {}

  protected async send(method: string, at: Operation, suffix: string, parts: Parts): Promise<Answer> {
    const { path, caller } = at;
    const { body, archived, key, tag, headers } = parts;
    const answer = await this.app.request(method, `${path}${suffix}`, {
      ...{ body, token: caller.token },
      headers: {
        ...(key !== undefined && { 'Idempotency-Key': key }),
        ...(tag !== undefined && { 'If-Match': tag }),
        ...headers,
      },
    });
    this.statuses.set(answer.status, (this.statuses.get(answer.status) ?? 0) + 1);
    const what = `${method} ${path}${suffix} by ${caller.tenant}/${caller.sub}`;
    this.expect(answer.status < 500, `${what} does not fail`, answer);
    this.expectNothingForeign(what, caller, archived, JSON.stringify(body ?? ''), answer);
    if (method === 'GET' && answer.status === 200) this.expectReadable(what, caller, archived, answer.body);
    return answer;
  }

  /** No word of a record that the caller may not read is anywhere in an answer. */
  private expectNothingForeign(
    what: string,
    caller: Caller,
    archived: Archived,
    sent: string,
    answer: Answer,
  ) {
    // The text of a cursor says nothing: any letters may come together in it.
    const text = answer.text.replaceAll(/"(?:next|prev)":"[^"]*"/g, '');
    for (const [word] of text.matchAll(/w\d+x/g)) {
      const isKnown = sent.includes(word) || this.model.mayShow(word, caller, archived);
      this.expect(isKnown, `${what} does not show ${word}`, answer);
    }
  }

  /** Every record in an answer is one that the caller may read; one inside of another one must be live. */
  private expectReadable(what: string, caller: Caller, archived: Archived, value: unknown): void {
    if (Array.isArray(value)) {
      for (const each of value) this.expectReadable(what, caller, archived, each);
      return;
    }
    if (typeof value !== 'object' || value === null) return;
    const isRecord = '_id' in value;
    if (isRecord) {
      const record = this.model.get(String(value._id));
      const isReadable = record !== undefined && this.model.mayRead(record, caller, archived);
      if (!isReadable) this.faults.push(`${what} shows ${JSON.stringify(value)}`);
    }
    for (const each of Object.values(value))
      this.expectReadable(what, caller, isRecord ? undefined : archived, each);
  }

  protected expect(isTrue: boolean, what: string, { status, text }: Answer): void {
    if (!isTrue) this.faults.push(`Not so: ${what}; but ${status} ${text.slice(0, 300)}`);
  }

  protected expectStatus(action: string, at: Operation, answer: Answer, ...statuses: number[]): void {
    const { path, caller } = at;
    const what = `${action} of ${path} by ${caller.tenant}/${caller.sub} is ${statuses.join(' or ')}`;
    this.expect(statuses.includes(answer.status), what, answer);
  }

  /** The status of an operation that does not get as far as its record. */
  protected refusal({ surface, caller, vault }: Operation, writes: boolean, archived?: Archived) {
    const refused = this.model.refusal(surface.name, caller, writes, archived);
    return refused ?? (vault !== undefined && !this.model.hasVault(vault, caller) ? 404 : undefined);
  }

  protected expectLetIn(action: string, operation: Operation, answer: Answer, archived: Archived): boolean {
    this.expectStatus(action, operation, answer, this.refusal(operation, false, archived) ?? 200);
    return answer.status === 200;
  }

  protected expectCreated(operation: Operation, body: Body, answer: Answer): void {
    const { surface, caller, vault } = operation;
    const misreference = this.model.misreference(caller, body);
    this.expectStatus('create', operation, answer, this.refusal(operation, true) ?? misreference ?? 201);
    if (answer.status !== 201) return;
    const word = String(body[surface.text]);
    this.model.put({
      ...{ id: String(answer.body._id), name: surface.name, word, isArchived: false },
      ...(surface.name !== 'todos' && { tenant: caller.tenant }),
      ...(surface.name === 'diaries' && { owner: caller.sub }),
      ...(surface.name === 'cards' && { vault }),
      references: referencesIn(body),
    });
  }

  /** The answer to a change or removal of a record of whomever; a body is one of an update. */
  protected expectWritten(
    operation: Operation,
    target: ModelRecord,
    answer: Answer,
    { tag, body }: { tag?: string; body?: Body },
  ): void {
    const { surface, caller } = operation;
    const action = body ? 'update' : 'del';
    const isArchiving = !body && surface.archive !== undefined;
    // Posts are archived anew, and the answer does not say whether there was one.
    const isPost = isArchiving && surface.name === 'posts';
    const isWritable = isPost ? this.model.isOwn(target, caller) : this.model.mayWrite(target, caller);
    const isThere = isWritable && this.isAt(operation, target);
    const refusal = this.refusal(operation, true);
    const stale = tag !== undefined && tag !== '*' ? [412] : [];
    const misreference = body && this.model.misreference(caller, body);
    const missing = isArchiving && tag !== undefined ? 412 : isPost ? 200 : 404;
    const there = [misreference ?? 200, ...stale];
    const absent = [missing, ...(misreference ? [misreference] : [])];
    const statuses = refusal ? [refusal] : isThere ? there : absent;
    this.expectStatus(`${action} of ${target.id}`, operation, answer, ...statuses);
    if (answer.status !== 200 || !isThere || refusal) return;
    if (body) {
      this.model.rewrite(target, String(body[surface.text]));
      Object.assign(target.references, referencesIn(body));
    } else if (isArchiving) target.isArchived = true;
    else this.model.remove(target);
  }

  /** Compares the whole database with the model. */
  protected async compare(): Promise<void> {
    this.faults.push(...this.model.differencesTo(await contentsOf(this.app)));
    for (const { name } of SURFACES) {
      for (const record of this.model.of(name).slice(0, -MAX_RECORDS)) {
        await this.app.database.collection(name).deleteOne({ _id: new ObjectId(record.id) });
        this.model.remove(record);
      }
    }
  }

  /** A body with a word of its own, and references to records of whomever. */
  protected body({ surface }: Operation): Body {
    const references = surface.input
      .filter((field) => field in REFERENCES && this.random.chance(0.3))
      .map((field) => [field, this.idOf(REFERENCES[field] as string)]);
    return { [surface.text]: this.model.nextWord(), ...Object.fromEntries(references) };
  }

  /** The identifier of a record of whomever, or of none. */
  protected idOf(name: string): string {
    return this.targetOf(name)?.id ?? this.random.hex(24);
  }

  protected targetOf(name: string): ModelRecord | undefined {
    const records = this.model.of(name);
    return records.length > 0 ? this.random.pick(records) : undefined;
  }

  /** A record of whomever; of cards mostly one at the path. */
  protected targetIn(operation: Operation): ModelRecord | undefined {
    const { surface } = operation;
    const here = this.model.of(surface.name).filter((record) => this.isAt(operation, record));
    return here.length > 0 && this.random.chance(0.8) ? this.random.pick(here) : this.targetOf(surface.name);
  }

  protected isAt({ vault }: Operation, record: ModelRecord): boolean {
    return record.name !== 'cards' || record.vault === vault;
  }
}

const referencesIn = (body: Body): Record<string, string> =>
  Object.fromEntries(
    Object.keys(REFERENCES).flatMap((field) => (body[field] ? [[field, String(body[field])]] : [])),
  );
