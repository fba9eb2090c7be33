import { IsFlag, IsText, IsTimestamp } from '../../common/fields/index.js';

/** The fields of a todo that a client may send. */
export class TodoInput {
  @IsText({
    min: 1,
    max: 200,
    countsOuterSpace: false,
    maxTotal: 1_000,
    example: 'Water the plants',
    description: '1 to 200 characters, not counting white space around them; stored as sent',
  })
  title!: string;

  @IsText({ max: 10_000, optional: true, example: 'Those on the balcony, too.' })
  description?: string;

  @IsFlag({ default: false, example: false })
  completed?: boolean;

  @IsTimestamp({ optional: true, example: '2026-12-31T12:00:00.000Z' })
  dueAt?: Date;
}
