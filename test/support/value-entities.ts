import { Prop, Schema } from '@nestjs/mongoose';
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

@Schema({ timestamps: true })
export class Thing extends ThingInput {
  @Prop({ type: Map, of: Types.ObjectId, default: () => new Map([['one', new Types.ObjectId(ID)]]) })
  labels?: Map<string, Types.ObjectId>;

  @Prop({ type: mongoose.Schema.Types.BigInt, default: 9007199254740993n }) big?: bigint;
  @Prop({ type: Buffer, default: () => Buffer.from('bytes') }) bytes?: Buffer;
  @Prop({ type: mongoose.Schema.Types.UUID, default: 'a5b4d0b2-8b65-4c8a-9a63-2f4f0a5a3c11' }) uuid?: string;
}

export class StrictInput {
  @IsText({ max: 80, optional: true }) short?: string;
  @IsText({ max: 80, optional: true }) fixed?: string;
  @IsText({ max: 80, optional: true }) colour?: string;
  @IsText({ max: 80, optional: true }) code?: string;
  @IsText({ max: 80, optional: true }) even?: string;
  @IsText({ max: 80, optional: true }) back?: string;
  @IsText({ max: 80, optional: true }) only?: string;
}

@Schema({ timestamps: true })
export class Strict extends StrictInput {
  @Prop({ type: String, maxlength: 3 }) declare short?: string;
  @Prop({ type: String, immutable: true }) declare fixed?: string;
  @Prop({ type: String, enum: ['red', 'blue'] }) declare colour?: string;
  @Prop({ type: String, match: /^[a-z]+$/ }) declare code?: string;

  @Prop({
    type: String,
    validate: { validator: (text: string) => text.length % 2 === 0, message: 'must be even' },
  })
  declare even?: string;

  @Prop({ type: String, required: true, default: 'here' }) declare back?: string;
  @Prop({ type: String, unique: true, sparse: true }) declare only?: string;
}

export class PlainInput {
  @IsEmail() @Prop({ type: String }) email!: string;

  @IsInt()
  @Min(1)
  @Max(9)
  @Prop({ type: Number })
  stock!: number;

  @IsOptional()
  @IsMongoId({ each: true })
  @Prop({ type: [Types.ObjectId], default: undefined })
  friends?: string[];
}

@Schema({ timestamps: true })
export class PlainOne extends PlainInput {}

@Schema({ timestamps: true })
export class Hooked extends ThingInput {
  @Prop({ type: String }) by?: string;
}
