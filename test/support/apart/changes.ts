import type { Random } from '../random.js';
import { ACME, GLOBEX } from '../tenants.js';
import type { Requests, Sent } from './requests.js';
import { REFERENCES, type Surface } from './surfaces.js';

/** Who sends changes, and whom they name. */
export interface Writer {
  readonly token?: string;
  /** People whom their records are shared with. */
  readonly people: readonly string[];
  /** Resources that they write. @default all */
  readonly writes?: readonly string[];
}

export type Own = Record<string, readonly string[]>;

const WORDS = ['tea', 'Tea', 'téa', 'red', 'Blue', 'a,b', '=1+1', 'x-ray'];
const MOMENTS = ['2020-01-01T00:00:00.000Z', '2021-06-01T12:00:00.000Z'];
const KINDS = 'create create create change change remove remove bulk import'.split(' ') as Kind[];
type Kind = 'create' | 'change' | 'remove' | 'bulk' | 'import';
const NDJSON = { 'Content-Type': 'application/x-ndjson' };

/** Makes requests that change records, of whomever. */
export class Changes {
  private number = 0;
  private idOf = (name: string) => this.requests.idOf(name);

  constructor(
    private readonly random: Random,
    private readonly requests: Requests,
  ) {}

  /** @param isBound whether it may change its own records only, although those may refer to any */
  any({ token, people, writes }: Writer, own: Own, isBound = false): Required<Pick<Sent, 'name'>> & Sent {
    const { random, requests } = this;
    const isWritten = ({ name, input }: Surface) => input.length > 0 && (writes?.includes(name) ?? true);
    const surfaces = requests.surfaces.filter(isWritten);
    const surface = surfaces[this.number++ % surfaces.length] as Surface;
    this.idOf = (name) => {
      const known = own[name] ?? [];
      return known.length > 0 && random.chance(isBound ? 0.9 : 0.6)
        ? random.pick(known)
        : requests.idOf(name);
    };
    const known = own[surface.name] ?? [];
    const id = isBound && known.length > 0 ? random.pick(known) : this.idOf(surface.name);
    const kind = isBound && known.length === 0 ? 'create' : random.pick(KINDS);
    const sent = this[kind](surface, requests.pathOf(surface, this.idOf), id, people);
    const headers = {
      ...(random.chance(0.2) && { Prefer: 'return=representation' }),
      ...(sent.method === 'POST' && random.chance(0.1) && { 'Idempotency-Key': `key ${random.below(40)}` }),
      ...(sent.method !== 'POST' && random.chance(0.3) && { 'If-Match': random.pick(['*', '"0"', '"1"']) }),
      ...sent.headers,
    };
    return { ...sent, token, headers, name: surface.name };
  }

  private create(surface: Surface, path: string, _id: string, people: readonly string[]): Sent {
    return { method: 'POST', path, body: this.input(surface, people) };
  }

  private change(surface: Surface, path: string, id: string, people: readonly string[]): Sent {
    return { method: 'PATCH', path: `${path}/${id}`, body: this.patch(surface, people) };
  }

  private remove({ archive }: Surface, path: string, id: string): Sent {
    const restores = archive !== undefined && this.random.chance(0.4);
    if (restores) return { method: 'POST', path: `${path}/${id}/restore` };
    return { method: 'DELETE', path: `${path}/${id}` };
  }

  private bulk(surface: Surface, path: string, _id: string, people: readonly string[]): Sent {
    if (!surface.batches.includes('bulk')) return this.create(surface, path, _id, people);
    const tag = this.random.chance(0.3) && { ifMatch: '"0"' };
    const operations = this.random.list(1, 3, () =>
      this.random.pick([
        { create: this.input(surface, people) },
        { update: { _id, changes: this.patch(surface, people), ...tag } },
        { del: { _id, ...tag } },
      ]),
    );
    const atomic = this.random.chance(0.3) && { atomic: true };
    return { method: 'POST', path: `${path}/bulk`, body: { operations, ...atomic } };
  }

  private import(surface: Surface, path: string, id: string, people: readonly string[]): Sent {
    if (!surface.batches.includes('import')) return this.change(surface, path, id, people);
    const lines = this.random.list(1, 3, () => JSON.stringify(this.input(surface, people)));
    return { method: 'POST', path: `${path}/import`, body: lines.join('\n'), headers: NDJSON };
  }

  private input({ input }: Surface, people: readonly string[]): object {
    const isTaken = (name: string) => this.random.chance(name in REFERENCES ? 0.25 : 0.5);
    const names = input.filter((name) => name.endsWith('!') || isTaken(name));
    const body = this.valuesOf(names, people);
    if (!('kind' in body)) return body;
    const { days, level, ...sheet } = body;
    return { ...sheet, ...(sheet.kind === 'dated' ? { days } : { level }) };
  }

  /** A body of an update; null removes a field. */
  private patch({ input }: Surface, people: readonly string[]): object {
    const names = this.random.draw(input, 1 + this.random.below(2));
    const values = this.valuesOf(names, people);
    if (this.random.chance(0.1)) values[(names[0] ?? '').replace('!', '')] = null;
    return values;
  }

  private valuesOf(names: readonly string[], people: readonly string[]): Record<string, unknown> {
    const values: Record<string, unknown> = {};
    for (const field of names.map((name) => name.replace('!', ''))) values[field] = this.value(field, people);
    if (this.random.chance(0.03)) values[this.random.pick(['secret', 'salary', 'name'])] = 7;
    return values;
  }

  private value(field: string, people: readonly string[]): unknown {
    const { random } = this;
    const target = REFERENCES[field];
    if (target) return this.idOf(target);
    const text = () => random.list(1, 3, () => random.pick(WORDS)).join(' ');
    const makers: Readonly<Record<string, () => unknown>> = {
      level: () => random.below(9),
      completed: () => random.chance(0.5),
      tags: () => random.draw(WORDS, random.below(3)),
      dueAt: () => random.pick(MOMENTS),
      box: () => ({ label: text() }),
      code: () => `code ${random.below(3)}`,
      recipient: () => random.pick(people),
      members: () => [...new Set(random.draw(people, random.below(3)))],
      tenant: () => random.pick([ACME, GLOBEX]),
      kind: () => random.pick(['plain', 'dated']),
      days: () => [1 + random.below(7)],
    };
    return (makers[field] ?? text)();
  }
}
