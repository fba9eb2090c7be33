import type { Type } from '@nestjs/common';
import type { SchemaDefinitionProperty } from 'mongoose';
import {
  type FieldDecorator,
  type FieldDescription,
  fieldsOf,
  InputReader,
  type JsonSchema,
} from '../../src/common/fields/index.js';
import { definitionOf } from '../../src/common/fields/store-of.js';
import { fault, faultsOf } from './faults.js';
import { withFields } from './resource.js';

/** A field decorator, what it does with values, and its description. */
export interface FieldCase extends Partial<FieldDescription> {
  decorator: FieldDecorator;
  /** Values that are taken as they are. */
  accepted: unknown[];
  converted?: [sent: unknown, held: unknown][];
  /** Values by the sentence that they are refused with. */
  refused: Record<string, unknown[]>;
  store: SchemaDefinitionProperty;
}

export enum Colour {
  Red = 'red',
  Blue = 'blue',
}

export enum Level {
  Low,
  High = 5,
}

export const ID = '665f1c2ab7e3a90d4c8b4567';
/** How identifiers are documented. */
export const IDENTIFIER: JsonSchema = { type: 'string', pattern: '^[0-9a-fA-F]{24}$', example: ID };
export const DATE: JsonSchema = { type: 'string', format: 'date-time' };

/** Values of no kind but their own. */
export const STRANGERS = [[], {}, [[]], { $ne: 1 }, () => 1, Symbol('x')];

/** A class with the one field "value". */
export const classWith = (...decorators: PropertyDecorator[]) =>
  withFields(class Input {}, { value: decorators.reverse() }) as Type<{ value: unknown }>;

/** Runs cases, by their names: what is taken, what is refused and how, and the description of the field. */
export function describeFields(cases: Record<string, FieldCase>): void {
  describe.each(Object.entries(cases))(
    '%s',
    (_, { decorator, accepted, converted = [], refused, ...field }) => {
      const type = classWith(decorator);
      const reader = new InputReader(type);

      it('accepts valid values, in a create and in an update', async () => {
        for (const [sent, held] of [...accepted.map((value) => [value, value]), ...converted]) {
          expect((await reader.read({ value: sent })).value).toStrictEqual(held);
          expect((await reader.readPatch({ value: sent })).value).toEqual(held);
        }
      });

      it.each(Object.entries(refused))(
        'refuses what is not %s, in a create and in an update',
        async (shape, wrong) => {
          const faults = [fault('/value', `must be ${shape}.`)];
          for (const value of wrong) {
            expect([value, await faultsOf(reader.read({ value }))]).toEqual([value, faults]);
            expect([value, await faultsOf(reader.readPatch({ value }))]).toEqual([value, faults]);
          }
        },
      );

      it('describes itself, with an example that it accepts, if any', async () => {
        const { store, ...described } = field;
        const common = { name: 'value', required: true, declaration: expect.anything(), list: false };
        expect(fieldsOf(type)).toEqual([{ ...common, ...described }]);
        expect(definitionOf(type)).toEqual({ value: store });
        const { example } = fieldsOf(type)[0]?.schema ?? {};
        if (example !== undefined) expect(await reader.read({ value: example })).toEqual({ value: example });
      });
    },
  );
}
