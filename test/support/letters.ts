import { Prop, Schema } from '@nestjs/mongoose';
import { ApiProperty } from '@nestjs/swagger';
import { Types } from 'mongoose';
import { CrudModule } from '../../src/common/crud/index.js';
import { IsText } from '../../src/common/fields/index.js';
import { currentTenant } from '../../src/common/tenancy/index.js';

class LetterInput {
  @IsText({ max: 100 }) title!: string;
}

/** Isolated by its tenant in every action, reads included. */
@Schema({ timestamps: true })
class Letter extends LetterInput {
  @Prop({ type: Types.ObjectId, required: true }) @ApiProperty({ type: String }) tenant!: Types.ObjectId;
}

export const letters = CrudModule.forFeature({
  entity: Letter,
  input: LetterInput,
  name: 'letters',
  isolationFields: { all: { tenant: currentTenant } },
  query: { filter: ['title'], sort: ['title'] },
});
