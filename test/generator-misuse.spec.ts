import { Prop, Schema } from '@nestjs/mongoose';
import { CrudController, CrudModule, type CrudOptions } from '../src/common/crud/index.js';
import { currentTenant } from '../src/common/tenancy/index.js';
import { IsText } from '../src/common/fields/index.js';

class NoteInput {
  @Prop({ type: String })
  @IsText({ max: 80 })
  text!: string;
}

@Schema({ timestamps: true })
class Note extends NoteInput {}

class Plain {}

class Unvalidated {
  text!: string;
}

@Schema()
class Timeless extends NoteInput {}

@Schema({ timestamps: true })
class Textless {
  @Prop({ type: String })
  other!: string;
}

const notes: CrudOptions<Note, NoteInput> = { entity: Note, input: NoteInput, name: 'notes' };

describe('a wrong use of CrudModule.forFeature stops the start and says the fix', () => {
  it.each([
    [
      'no schema',
      { ...notes, entity: Plain },
      'CrudModule.forFeature(Plain): no schema found. Decorate Plain with @Schema() and its fields with @Prop(), or pass { schema }.',
    ],
    [
      'no timestamps',
      { ...notes, entity: Timeless },
      'CrudModule.forFeature(Timeless): lists are sorted by createdAt, which the schema does not have. Write @Schema({ timestamps: true }).',
    ],
    [
      'an input without validation',
      { ...notes, input: Unvalidated },
      'CrudModule.forFeature(Note): Unvalidated has no validated field. Decorate its fields with class-validator or @IsText() and its like.',
    ],
    [
      'an input field that is not stored',
      { ...notes, entity: Textless },
      'CrudModule.forFeature(Textless): the input field "text" is not in the schema. Decorate Textless.text with @Prop().',
    ],
    [
      'a name that is no word',
      { ...notes, name: 'my notes' },
      'CrudModule.forFeature(Note): the name "my notes" is not a word. Use letters, digits, - and _.',
    ],
    [
      'a path that is none',
      { ...notes, path: '/notes' },
      'CrudModule.forFeature(Note): the path "/notes" is not a path. Write it like "posts/api".',
    ],
    [
      'an isolation field that clients may send',
      { ...notes, isolationFields: { update: { text: currentTenant } } },
      'CrudModule.forFeature(Note): isolationFields.update names "text", which clients may send. Remove it from NoteInput.',
    ],
    [
      'an isolation by the identifier, which the one in the path would replace',
      { ...notes, isolationFields: { update: { _id: currentTenant } } },
      'CrudModule.forFeature(Note): isolationFields.update names "_id", which yields to the identifier in the path. Use the guards of routes.',
    ],
  ])('%s', (_case, options, message) => {
    expect(() => CrudModule.forFeature(options as CrudOptions<object, object>)).toThrow(new Error(message));
  });

  it('a controller that does not extend the generated one', () => {
    class NotesController {}
    expect(() => CrudModule.forFeature(notes, { controller: NotesController })).toThrow(
      new Error(
        'CrudModule.forFeature(Note): NotesController does not extend the generated controller. Write: class NotesController extends CrudController(options).',
      ),
    );
  });

  it('a controller made from other options', () => {
    class NotesController extends CrudController({ ...notes, name: 'others' }) {}
    expect(() => CrudModule.forFeature(notes, { controller: NotesController })).toThrow(
      'CrudModule.forFeature(Note): NotesController extends a controller of other options. Write: class NotesController extends CrudController(options), with the same options.',
    );
  });

  it('a misspelt field does not compile', () => {
    const misspelt: CrudOptions<Note, NoteInput> = {
      ...notes,
      // @ts-expect-error `txet` is not a field of Note: an unused expectation fails the type check.
      isolationFields: { update: { txet: currentTenant } },
    };
    expect(() => CrudModule.forFeature(misspelt)).toThrow(
      'CrudModule.forFeature(Note): isolationFields.update names "txet", which the schema does not have.',
    );
  });
});
