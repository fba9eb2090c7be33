import { describePages, describeReads } from './crud-contract/reads.js';
import { describeConditions, describeCreate, describeUpdate } from './crud-contract/writes.js';
import { clientOf, type CrudClient, expectUpdated } from './crud-contract/records.js';
import { expectInvalid } from './problems.js';
import type { TestApp } from './test-app.js';

/** A value that is sent, and what becomes of it: the value that is shown, or what the refusal says. */
export type FieldCase<T = unknown> = [sent: unknown, then: T];

/** Facts about a resource that the suite needs. */
export interface CrudContract {
  app: () => TestApp;
  /** Token of a caller who may write; undefined where everybody may. */
  token?: () => string;
  path: string;
  collection: string;
  /** What a 404 calls one record. */
  label: string;
  /** Whether the resource counts by a route of its own. */
  counts: boolean;
  /** Names of the query parameters of the reads. */
  parameters: { list: string[]; count: string[]; get: string[] };
  hasCursors: boolean;
  /** A body with every input field; `title` is among them. */
  full: Record<string, unknown>;
  optional: string[];
  /** What a record has beside the fields that were sent. */
  defaults: Record<string, unknown>;
  /** Values that each field accepts. */
  valid: Record<string, FieldCase[]>;
  /** Values that each field refuses, by the order in which faults are listed. */
  invalid: Record<string, FieldCase<string>[]>;
}

/** Every rule of a generated resource's routes, run against one resource. */
export function describeCrudContract(name: string, contract: CrudContract): void {
  const client = clientOf(contract);
  describe(`${name}, like every resource`, () => {
    describeCreate(client);
    describeReads(client);
    describePages(client);
    describeUpdate(client);
    describeFields(client);
    describeConditions(client);
  });
}

/** Bodies with the first case of every field, with the second one, and so on. */
function roundsOf<T>(fields: Record<string, FieldCase<T>[]>) {
  const longest = Math.max(...Object.values(fields).map((cases) => cases.length));
  return Array.from({ length: longest }, (_, i) => {
    const cases = Object.entries(fields).flatMap(([field, { [i]: one }]) =>
      one ? [[field, one] as const] : [],
    );
    return {
      body: Object.fromEntries(cases.map(([field, [sent]]) => [field, sent])),
      then: Object.fromEntries(cases.map(([field, [, then]]) => [field, then])),
    };
  });
}

function describeFields({ path, valid, invalid, ...of }: CrudClient): void {
  describe(`fields of ${path}`, () => {
    it('take each valid value in a create and in an update', async () => {
      const rounds = roundsOf(valid);
      const made: string[] = [];
      for (const { body } of rounds) made.unshift(await of.create({ title: 'A title', ...body }));
      const shown = rounds.map(({ then }) => ({ title: 'A title', ...then })).reverse();
      expect((await of.get()).body).toEqual(shown.map((record, i) => of.recordOf(record, made[i])));
      // Each record gets the values of another one.
      const changes = [...rounds.slice(1), ...rounds.slice(0, 1)].reverse();
      for (const [i, { body }] of changes.entries()) expectUpdated(await of.patch(made[i] ?? '', body));
      const changed = shown.map((record, i) => of.recordOf({ ...record, ...changes[i]?.then }, made[i]));
      expect((await of.get()).body).toEqual(changed);
    });

    it('refuse each invalid value in a create and in an update, and change nothing', async () => {
      const before = await of.created();
      for (const { body, then } of roundsOf(invalid)) {
        const errors = Object.entries(then).map(([field, detail]) => ({ pointer: `/${field}`, detail }));
        const answers = [
          [path, await of.post({ title: 'A title', ...body })],
          [of.at(before.id), await of.patch(before.id, body)],
        ] as const;
        for (const [instance, answer] of answers) {
          expect([abridged(body), answer.body.errors]).toEqual([abridged(body), errors]);
          expectInvalid(answer, instance, ...errors);
        }
      }
      expect((await of.get()).body).toEqual([before.record]);
      expect(await of.read(before.id)).toEqual({ record: before.record, etag: before.etag });
    });
  });
}

const abridged = (body: object) =>
  Object.entries(body).map(([field, value]) => `${field}: ${JSON.stringify(value)?.slice(0, 60)}`);
