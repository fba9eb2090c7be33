import { Schema } from '@nestjs/mongoose';
import { IsIdentifier, IsReference, IsText, IsWholeNumber } from '../../src/common/fields/index.js';

export class AccountInput {
  @IsText({ max: 80, example: 'Petty cash' }) name!: string;
}

@Schema({ timestamps: true })
export class Account extends AccountInput {
  @IsIdentifier() tenant!: string;
  @IsWholeNumber({ default: 0, example: 1_250, description: 'In cents' }) balance!: number;
}

export class TransferInput {
  @IsReference(() => Account) from!: string;
  @IsReference(() => Account) to!: string;
  @IsWholeNumber({ min: 1, example: 250, description: 'In cents' }) amount!: number;
}

@Schema({ timestamps: true })
export class Transfer extends TransferInput {
  @IsIdentifier() tenant!: string;
}
