import { SchemaFactory } from '@nestjs/mongoose';
import { claim, CrudModule, type CrudOptions, IsText } from '../../../src/index.js';
import { GOOD_INDEXES } from '../../support/index-misuse-cases.js';
import { GOOD_QUERIES } from '../../support/query-misuse-cases.js';
import * as wrong from '../../support/misused-classes.js';
import { cycle, Note, notes, Plain } from '../../support/misused-classes.js';
import { CASES } from '../../support/misuse-cases.js';

const start = (change: object) => () =>
  CrudModule.forFeature({ ...notes, ...change } as CrudOptions<object, object>);

describe.each(Object.entries(CASES))(
  'wrong options stop the start with one sentence: %s',
  (_group, cases) => {
    it.each(Object.entries(cases))('%s', (sentence, changes) => {
      for (const change of [changes].flat())
        expect(start(change)).toThrow(new Error(`CrudModule.forFeature(Note): ${sentence}`));
    });
  },
);

it.each([...GOOD_INDEXES, ...GOOD_QUERIES])(
  'a good index or query does not stop the start (case %#)',
  (change) => {
    expect(start(change)).not.toThrow();
  },
);

class TextOnly {
  @IsText({ max: 5 }) text!: string;
}

describe('an entity that cannot be a resource stops the start with one sentence', () => {
  const noText = (entity: string) =>
    `the input field "text" is not in the schema. Decorate ${entity}.text with @Prop(), or name it in writeOnly.`;
  const unsetBy = (field: string) =>
    `the schema requires "${field}", but nothing sets it. Add it to the input, isolationFields or a beforeCreate hook, or give it a default.`;
  const unset = {
    isolationFields: { all: { owner: claim('sub') } },
    references: { owner: { to: wrong.Owned, onDelete: 'unset' } },
  };

  it.each<[sentence: string, entity: unknown, change?: object]>([
    [
      'no schema found. Decorate Plain with @Schema() and its fields with @Prop(), or pass { schema }.',
      Plain,
    ],
    [
      'lists are sorted by createdAt, which the schema does not have. Write @Schema({ timestamps: true }).',
      wrong.Timeless,
    ],
    [noText('Textless'), wrong.Textless],
    [noText('Note'), Note, { schema: SchemaFactory.createForClass(wrong.Textless) }],
    [
      'the input field "text" is of the kind "string", which Listed.text, of the schema type Array, cannot hold.',
      wrong.Listed,
      { input: TextOnly },
    ],
    [unsetBy('owner'), wrong.Owned],
    [unsetBy('label'), wrong.Labelled],
    [
      'references.owner.onDelete cannot be "unset", since the field is required, or in a list of objects. Write "restrict", "cascade" or "ignore".',
      wrong.Owned,
      unset,
    ],
    [`entity is undefined. ${cycle}`, undefined],
    ['entity must be a class.', 'Note'],
  ])('%s', (sentence, entity, change) => {
    const name = typeof entity === 'function' ? entity.name : String(entity);
    expect(start({ entity, ...change })).toThrow(new Error(`CrudModule.forFeature(${name}): ${sentence}`));
  });
});
