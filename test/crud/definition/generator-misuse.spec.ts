import { SchemaFactory } from '@nestjs/mongoose';
import { CrudModule, type CrudOptions } from '../../../src/common/crud/index.js';
import { IsText } from '../../../src/common/fields/index.js';
import { claim } from '../../../src/common/tenancy/index.js';
import {
  GOOD_INDEXES,
  GOOD_LIST_INDEXES,
  INDEX_CASES,
  LIST_INDEX_CASES,
} from '../../support/index-misuse-cases.js';
import { Note, Plain, Timeless, Textless, Listed, Owned } from '../../support/misused-classes.js';
import { CASES, circle, notes } from '../../support/misuse-cases.js';

describe.each(Object.entries({ ...CASES, indexes: INDEX_CASES, 'indexes of lists': LIST_INDEX_CASES }))(
  'a wrong option stops the start with one sentence: %s',
  (_group, cases) => {
    it.each(Object.entries(cases))('%s', (sentence, changes) => {
      for (const change of [changes].flat()) {
        const options = { ...notes, ...change } as CrudOptions<object, object>;
        expect(() => CrudModule.forFeature(options)).toThrow(
          new Error(`CrudModule.forFeature(Note): ${sentence}`),
        );
      }
    });
  },
);

it.each([...GOOD_INDEXES, ...GOOD_LIST_INDEXES])(
  'an index of fields that are there, or can be, does not stop the start: %s',
  (_index, change) => {
    expect(() => CrudModule.forFeature({ ...notes, ...change })).not.toThrow();
  },
);

describe('an entity that cannot be a resource stops the start with one sentence', () => {
  const unread = SchemaFactory.createForClass(Textless);
  it.each<[unknown, object, string]>([
    [
      Plain,
      {},
      'no schema found. Decorate Plain with @Schema() and its fields with @Prop(), or pass { schema }.',
    ],
    [
      Timeless,
      {},
      'lists are sorted by createdAt, which the schema does not have. Write @Schema({ timestamps: true }).',
    ],
    [
      Textless,
      {},
      'the input field "text" is not in the schema. Decorate Textless.text with @Prop(), or name it in writeOnly.',
    ],
    [
      Note,
      { schema: unread },
      'the input field "text" is not in the schema. Decorate Note.text with @Prop(), or name it in writeOnly.',
    ],
    [
      Listed,
      { input: NoteTextOnly() },
      'the input field "text" is no list, and Listed.text in the schema is one.',
    ],
    [
      Owned,
      {},
      'the schema requires "owner", but nothing sets it. Add it to the input, isolationFields or a beforeCreate hook, or give it a default.',
    ],
    [
      Owned,
      {
        isolationFields: { all: { owner: claim('sub') } },
        references: { owner: { to: Owned, onDelete: 'unset' } },
      },
      'references.owner.onDelete cannot be "unset", since the schema requires the field.',
    ],
    [undefined, {}, `entity is undefined. ${circle}`],
    ['Note', {}, 'entity must be a class.'],
  ])('%s %j', (entity, change, sentence) => {
    const options = { ...notes, entity, ...change } as CrudOptions<object, object>;
    const name = typeof entity === 'function' ? entity.name : String(entity);
    expect(() => CrudModule.forFeature(options)).toThrow(
      new Error(`CrudModule.forFeature(${name}): ${sentence}`),
    );
  });

  it.each([undefined, null, 'notes'])('options that are %j', (options) => {
    expect(() => CrudModule.forFeature(options as never)).toThrow(
      new Error('CrudModule.forFeature(undefined): the options are missing. Pass { entity, input, name }.'),
    );
  });
});

function NoteTextOnly() {
  class TextOnly {
    @IsText({ max: 5 }) text!: string;
  }
  return TextOnly;
}
