import type { Violation } from '../../src/common/errors/index.js';
import { describePages, describeReads } from './crud-contract/reads.js';
import { describeConditions, describeCreate, describeUpdate } from './crud-contract/writes.js';
import { clientOf, type CrudClient, expectUpdated } from './crud-contract/records.js';
import { expectInvalid } from './problems.js';
import type { TestApp } from './test-app.js';

/** A body that is accepted (a title is added), and the fields of the record where they differ from those sent. */
export interface ValidBody {
  name: string;
  body: Record<string, unknown>;
  stored?: Record<string, unknown>;
}

/** A body that is refused, and what the answer says about it. A title is added where it may be. */
export interface InvalidBody {
  name: string;
  body: Record<string, unknown>;
  errors: Violation[];
  /** Whether only a create refuses it, such as a body without a required field. @default false */
  createOnly?: boolean;
}

/** Facts about a resource that the suite needs. */
export interface CrudContract {
  app: () => TestApp;
  /** Token of a caller who may write; undefined where everybody may. */
  token?: () => string;
  path: string;
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
  /** Every accepted shape of the fields, each tried in a create and in an update. */
  valid: ValidBody[];
  /** Every refused shape of the fields, each tried in a create and in an update. */
  invalid: InvalidBody[];
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

function describeFields({ path, valid, invalid, full, ...of }: CrudClient): void {
  describe(`fields of ${path}`, () => {
    it.each(valid)('a create and an update take $name', async ({ body, stored = body }) => {
      const made = await of.create({ title: 'A title', ...body });
      expect((await of.read(made)).record).toEqual(of.recordOf({ title: 'A title', ...stored }, made));
      const id = await of.create();
      expectUpdated(await of.patch(id, body));
      expect((await of.read(id)).record).toEqual(of.recordOf({ ...full, ...stored }, id));
    });

    it.each(invalid)('a create and an update refuse $name', async ({ body, errors, createOnly }) => {
      const sent = createOnly ? body : { title: 'A title', ...body };
      expectInvalid(await of.post(sent), path, ...errors);
      expect((await of.get()).body).toEqual([]);
      if (createOnly) return;
      const { id, ...before } = await of.created();
      expectInvalid(await of.patch(id, body), of.at(id), ...errors);
      expect(await of.read(id)).toEqual(before);
    });
  });
}
