import { Prop } from '@nestjs/mongoose';
import { IsText, IsTextList } from '../../common/fields/index.js';

/** What a client may say about a post (contract section 1). */
export class PostInput {
  @Prop({ type: String, required: true })
  @IsText({
    min: 1,
    max: 200,
    countsOuterSpace: false,
    example: 'Release notes',
    description: '1 to 200 characters, not counting white space around them; stored as sent',
  })
  title!: string;

  @Prop({ type: String })
  @IsText({ max: 100_000, optional: true, example: 'What is new in this release.' })
  content?: string;

  // Without this default a post that has no tags would be given an empty list.
  @Prop({ type: [String], default: undefined })
  @IsTextList({ maxEntries: 20, entry: { min: 1, max: 50 }, optional: true, example: ['release', 'news'] })
  tags?: string[];
}
