import { Schema } from '@nestjs/mongoose';
import { IsIdentifier, IsReference, IsText } from '../../src/common/fields/index.js';

/** The fields that an update may change. A separate route moves a category. */
export class CategoryName {
  @IsText({ min: 1, max: 80, example: 'Running shoes' })
  name!: string;
}

export class CategoryInput extends CategoryName {
  @IsReference(() => Category, { optional: true, description: 'The category above; none for a root' })
  parent?: string;
}

/** A node of a tenant's tree. */
@Schema({ timestamps: true })
export class Category extends CategoryInput {
  @IsIdentifier()
  tenant!: string;

  @IsText({ min: 1, max: 80, example: 'running-shoes', description: 'The name as a part of a path' })
  slug!: string;
}
