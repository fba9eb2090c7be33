import type { Type } from '@nestjs/common';
import type { SchemaDefinitionProperty } from 'mongoose';
import { type FieldDecorator, fieldsOf, InputReader } from '../../src/common/fields/index.js';
import { definitionOf } from '../../src/common/fields/store-of.js';
import { faultsOf } from './faults.js';

/** A field decorator, and what it does with values. */
export interface FieldCase {
  name: string;
  decorator: FieldDecorator;
  /** Values that are taken as they are, or pairs of a value and what it becomes. */
  accepted: unknown[];
  converted?: [sent: unknown, held: unknown][];
  refused: [shape: string, values: unknown[]][];
  described: object;
  store: SchemaDefinitionProperty;
}

/** Values of no kind but their own. */
export const STRANGERS = [[], {}, [[]], { $ne: 1 }, () => 1, Symbol('x')];

/** A class with the one field "value". */
export function classWith(...decorators: PropertyDecorator[]): Type<{ value: unknown }> {
  class Input {
    value!: unknown;
  }
  for (const decorate of decorators.reverse()) decorate(Input.prototype, 'value');
  return Input;
}

/** Runs a case: what is taken, what is refused and how, and the description of the field. */
export function describeField({
  name,
  decorator,
  accepted,
  converted = [],
  refused,
  described,
  store,
}: FieldCase): void {
  describe(name, () => {
    const reader = new InputReader(classWith(decorator));
    const values = [...accepted.map((value): [unknown, unknown] => [value, value]), ...converted];

    it('accepts valid values, in a create and in an update', async () => {
      for (const [sent, held] of values) {
        expect((await reader.read({ value: sent })).value).toStrictEqual(held);
        expect((await reader.readPatch({ value: sent })).value).toEqual(held);
      }
    });

    it('refuses everything else in one sentence, in a create and in an update', async () => {
      for (const [shape, wrong] of refused) {
        for (const value of wrong) {
          const faults = [{ pointer: '/value', detail: `"value" must be ${shape}.` }];
          expect({ value, faults: await faultsOf(reader.read({ value })) }).toEqual({ value, faults });
          expect({ value, faults: await faultsOf(reader.readPatch({ value })) }).toEqual({ value, faults });
        }
      }
    });

    it('describes itself', () => {
      const type = classWith(decorator);
      expect(fieldsOf(type)).toEqual([
        { name: 'value', required: true, isDeclared: true, list: false, ...described },
      ]);
      expect(definitionOf(type)).toEqual({ value: store });
    });

    it('has an example that it accepts, if any', async () => {
      const { example } = fieldsOf(classWith(decorator))[0]?.schema ?? {};
      if (example !== undefined) expect(await reader.read({ value: example })).toEqual({ value: example });
    });
  });
}
