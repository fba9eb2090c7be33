import { Prop, Schema } from '@nestjs/mongoose';
import mongoose, { Types } from 'mongoose';
import { CrudModule } from '../../src/common/crud/index.js';
import {
  IsDecimal,
  IsFlag,
  IsIdentifier,
  IsNested,
  IsNumber,
  IsOneOf,
  IsText,
  IsTimestamp,
  IsWholeNumber,
} from '../../src/common/fields/index.js';
import { IsOptional } from 'class-validator';
import type { Random } from './random.js';

export enum Grade {
  fair = 'fair',
  fine = 'fine',
  mint = 'mint',
}

class Size {
  @IsWholeNumber({ min: -5, max: 5, optional: true }) width?: number;
}

class SampleInput {
  @IsText({ max: 1_000, optional: true }) title?: string;
  @IsFlag({ optional: true }) isNew?: boolean;
  @IsDecimal({ scale: 2, optional: true }) price?: string;
  @IsOneOf(Grade, { optional: true }) grade?: Grade;
  @IsNumber({ optional: true }) weight?: number;
  @IsTimestamp({ optional: true }) madeAt?: Date;
  @IsIdentifier({ optional: true }) maker?: string;
  @Prop({ type: mongoose.Schema.Types.BigInt }) @IsOptional() serial?: bigint;
  @IsNested(() => Size, { optional: true }) size?: Size;
}

/** A value of each type that can be sorted by, all of them optional. */
@Schema({ timestamps: true })
class Sample extends SampleInput {}

export const samples = CrudModule.forFeature({
  entity: Sample,
  input: SampleInput,
  name: 'samples',
  query: {
    filter: ['title', 'isNew', 'price', 'weight', 'madeAt'],
    sort: [
      'title',
      'isNew',
      'price',
      'grade',
      'weight',
      'madeAt',
      'maker',
      'serial',
      'size.width',
      ['isNew', '-price'],
      ['-grade', 'size.width', '-madeAt'],
    ],
  },
});

const { Decimal128, Long } = mongoose.mongo;

/** Values of each field, few and far apart, so that many records share one; undefined leaves the field out. */
const VALUES: Record<string, readonly unknown[]> = {
  // A lone surrogate is stored as the replacement character.
  title: [
    undefined,
    null,
    '',
    'a',
    'A',
    'a\0',
    'a\0b',
    'é',
    '\uFFFF',
    '\u{1F600}',
    '\uD800',
    'z'.repeat(1_000),
  ],
  isNew: [undefined, null, true, false],
  price: [undefined, '-1.5', '0', '1.1', '1.10', '12345678901234567890.12'].map(
    (text) => text && Decimal128.fromString(text),
  ),
  grade: [undefined, ...Object.values(Grade)],
  weight: [undefined, null, -0.5, 0, 1e300, 3, Long.fromString('4')],
  madeAt: [undefined, new Date(-1), new Date(0), new Date('2026-02-28T23:59:59.999Z')],
  maker: [undefined, new Types.ObjectId('0'.repeat(24)), new Types.ObjectId('f'.repeat(24))],
  serial: [undefined, '-9223372036854775808', '9007199254740993', '9007199254740994'].map(
    (text) => text && Long.fromString(text),
  ),
};

/** Records with many equal and many missing values, as they are stored. */
export function randomSamples(
  random: Random,
  count: number,
): mongoose.mongo.OptionalId<mongoose.mongo.Document>[] {
  return Array.from({ length: count }, () => {
    const fields = Object.entries(VALUES).map(([name, values]) => [name, random.pick(values)] as const);
    const width = random.pick([undefined, undefined, null, -1, 2]);
    return {
      _id: new Types.ObjectId(),
      ...Object.fromEntries(fields.filter(([, value]) => value !== undefined)),
      ...random.pick([{}, { size: {} }, { size: width === undefined ? {} : { width } }]),
      createdAt: new Date(1_770_000_000_000 + random.below(5)),
      updatedAt: new Date(1_770_000_000_000 + random.below(50)),
      __v: 0,
    };
  });
}
