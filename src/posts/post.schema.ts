import { Prop, Schema } from '@nestjs/mongoose';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Types } from 'mongoose';
import { OBJECT_ID_PATTERN } from '../common/ids/index.js';
import { PostInput } from './dto/post-input.js';

/** A post as it is stored: its content, its owner, and whether it is archived. */
@Schema({ timestamps: true })
export class Post extends PostInput {
  @Prop({ type: Types.ObjectId, required: true })
  @ApiProperty({
    type: String,
    pattern: OBJECT_ID_PATTERN,
    description: 'Owner; from the authenticated session alone',
    example: '665f1c2ab7e3a90d4c8b0001',
  })
  tenant!: Types.ObjectId;

  @Prop({ type: Date })
  @ApiPropertyOptional({
    type: String,
    format: 'date-time',
    description: 'Absent until the post is archived',
  })
  deletedAt?: Date;
}
