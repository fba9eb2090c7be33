import { Prop } from '@nestjs/mongoose';
import { IsEmail, IsInt, IsMongoId, IsOptional, Max, Min } from 'class-validator';
import mongoose, { Types } from 'mongoose';
import {
  IsDecimal,
  IsIdentifier,
  IsListOf,
  IsNested,
  IsText,
  IsWholeNumber,
} from '../../src/common/fields/index.js';
import { resource } from './resource.js';

/** The default of a field that clients never see. */
export const SECRET = 'known to the house only';
/** An identifier. */
export const ID = '665f1c2ab7e3a90d4c8b0009';

class Corner {
  @IsText({ max: 9, optional: true }) x?: string;
  @IsText({ max: 9, optional: true }) y?: string;
}

class Part {
  @IsText({ max: 20, optional: true }) label?: string;
  @IsIdentifier({ optional: true }) maker?: string;
  @IsDecimal({ scale: 2, optional: true }) price?: string;
  @IsNested(() => Corner, { optional: true }) corner?: Corner;
  @Prop({ type: String, select: false, default: SECRET }) secret?: string;
}

export class ThingInput {
  @IsText({ max: 80 }) name!: string;
  @IsWholeNumber({ min: 0, max: 100_000, optional: true }) counter?: number = 7;
  @IsDecimal({ scale: 2, optional: true }) price?: string;
  @IsNested(() => Part, { optional: true }) part?: Part;
  @IsListOf(() => Part, { max: 5, optional: true }) parts?: Part[];
  @IsListOf(IsIdentifier(), { max: 5, optional: true }) makers?: string[];
}

const { BigInt: Big, UUID } = mongoose.Schema.Types;
/** Records with values of every type. */
export const things = resource({
  name: 'things',
  fields: ThingInput,
  kept: {
    labels: Prop({
      type: Map,
      of: Types.ObjectId,
      default: () => new Map([['one', new Types.ObjectId(ID)]]),
    }),
    big: Prop({ type: Big, default: 9007199254740993n }),
    bytes: Prop({ type: Buffer, default: () => Buffer.from('bytes') }),
    uuid: Prop({ type: UUID, default: 'a5b4d0b2-8b65-4c8a-9a63-2f4f0a5a3c11' }),
    since: Prop({ type: Date, default: '2026-01-31' }),
    box: Prop({ type: new mongoose.Schema({ open: { type: Boolean, default: true } }, { _id: false }) }),
  },
});

const strict = (prop: object) => [Prop({ type: String, ...prop }), IsText({ max: 80, optional: true })];
const isEven = (text: string) => text.length % 2 === 0;
/** Records whose schema demands more than their class. */
export const stricts = resource({
  name: 'stricts',
  fields: {
    short: strict({ maxlength: 3 }),
    fixed: strict({ immutable: true }),
    colour: strict({ enum: ['red', 'blue'] }),
    code: strict({ match: /^[a-z]+$/ }),
    even: strict({ validate: { validator: isEven, message: 'must be even' } }),
    back: strict({ required: true, default: 'here' }),
    only: strict({ unique: true, sparse: true }),
  },
});

/** Records whose class has the decorators of class-validator. */
export const plains = resource({
  name: 'plains',
  fields: {
    email: [Prop({ type: String }), IsEmail()],
    stock: [Prop({ type: Number }), IsInt(), Min(1), Max(9)],
    friends: [Prop({ type: [Types.ObjectId], default: undefined }), IsOptional(), IsMongoId({ each: true })],
  },
});
