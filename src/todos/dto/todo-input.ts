import { Prop } from '@nestjs/mongoose';
import { IsFlag, IsText, IsTimestamp } from '../../common/fields/index.js';

/** What a client may say about a todo (contract section 1). */
export class TodoInput {
  @Prop({ type: String, required: true })
  @IsText({
    min: 1,
    max: 200,
    countsOuterSpace: false,
    example: 'Water the plants',
    description: '1 to 200 characters, not counting white space around them; stored as sent',
  })
  title!: string;

  @Prop({ type: String })
  @IsText({ max: 10_000, optional: true, example: 'Those on the balcony, too.' })
  description?: string;

  @Prop({ type: Boolean, default: false })
  @IsFlag({ optional: true, example: false, description: 'False where a create leaves it out' })
  completed?: boolean;

  @Prop({ type: Date })
  @IsTimestamp({ optional: true, example: '2026-12-31T12:00:00.000Z' })
  dueAt?: Date;
}
