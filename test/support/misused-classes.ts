import { Prop, Schema } from '@nestjs/mongoose';
import { ApiProperty, PickType } from '@nestjs/swagger';
import { Types } from 'mongoose';
import { type CrudOptions, IsNested, IsReference, IsText } from '../../src/index.js';
import { type Fields, type Outline, resource, withFields } from './resource.js';

/** Options that are wrong in one thing, one or a list of them, by the sentence that stops the start. */
export type MisuseCases = Readonly<Record<string, object | readonly object[]>>;

/** Values of which each is wrong. */
class Each {
  constructor(readonly values: readonly unknown[]) {}
}
export const each = (...values: unknown[]) => new Each(values);

/** Wrong values of an option, such as "list" or "list.maxLimit", by what the sentence says after its name. */
export const of = (
  option: string,
  cases: Readonly<Record<string, unknown>>,
  others: object = {},
): MisuseCases =>
  Object.fromEntries(
    Object.entries(cases).map(([said, wrong]) => {
      const values = wrong instanceof Each ? wrong.values : [wrong];
      return [option + said, values.map((value) => ({ ...others, ...nested(option.split('.'), value) }))];
    }),
  );
export const nested = (path: string[], value: unknown): object =>
  path.reduceRight((inner, name) => ({ [name]: inner }), value) as object;

// Classes that are wrong in one thing each, as their names say.

class Inner {
  @IsText({ max: 5 }) a!: string;
}
export class NoteInput {
  @IsText({ max: 80 }) text!: string;
  @IsReference(() => Note, { optional: true }) ref?: string;
  @IsNested(() => Inner, { optional: true }) inner?: Inner;
}
@Schema({ timestamps: true })
export class Note extends NoteInput {
  @Prop({ type: Types.ObjectId }) tenant?: Types.ObjectId;
  @Prop({ type: Date }) deletedAt?: Date;
}
/** Options that are right. */
export const notes: CrudOptions<Note, NoteInput> = { entity: Note, input: NoteInput, name: 'notes' };
/** How a class that is undefined is mended. */
export const cycle = 'Pass it; if it is imported from a file that imports this one, break that cycle.';

export class Plain {}
export class HalfValidated extends NoteInput {
  @Prop() mood!: string;
}
export class Inheriting extends HalfValidated {}
export class Picking extends PickType(NoteInput, ['text']) {
  mood!: string;
}
export const Documented = withFields(class Documented extends NoteInput {}, { mood: ApiProperty() });
export class Initialised extends NoteInput {
  mood = 'fine';
}
export const Keeping = withFields(class Keeping extends NoteInput {}, { updatedAt: IsText({ max: 5 }) });
@Schema()
export class Timeless extends NoteInput {}
const entityOf = (name: string, fields: Outline['fields'], kept: Fields) =>
  resource({ name, class: name, fields, kept }).entity;
export const Textless = entityOf('Textless', {}, { other: Prop({ type: String }) });
export const Listed = entityOf('Listed', {}, { text: Prop({ type: [String] }) });
export const Owned = entityOf('Owned', class extends NoteInput {}, {
  owner: Prop({ type: String, required: true }),
});
export const Labelled = entityOf('Labelled', class extends NoteInput {}, { label: IsText({ max: 9 }) });
export class NoHooks {
  create() {}
}
export class Misspelt {
  afterCreat() {}
}
export class Arrows {
  afterCreate = () => undefined;
}
export class Injecting {
  constructor(readonly other: Plain) {}
  afterCreate() {}
}
