import { IsListOf, IsText } from '../../common/fields/index.js';

/** The fields of a post that a client may send. */
export class PostInput {
  @IsText({
    min: 1,
    max: 200,
    countsOuterSpace: false,
    maxTotal: 1_000,
    example: 'Release notes',
    description: '1 to 200 characters, not counting white space around them; stored as sent',
  })
  title!: string;

  @IsText({ max: 100_000, optional: true, example: 'What is new in this release.' })
  content?: string;

  @IsListOf(IsText({ min: 1, max: 50 }), { max: 20, optional: true, example: ['release', 'news'] })
  tags?: string[];
}
