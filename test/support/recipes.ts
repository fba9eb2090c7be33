import { Prop, Schema } from '@nestjs/mongoose';
import { ApiProperty } from '@nestjs/swagger';
import { Types } from 'mongoose';
import { CrudModule, crudOptions } from '../../src/common/crud/index.js';
import { IsListOf, IsNested, IsText, IsTextList } from '../../src/common/fields/index.js';
import { currentTenant } from '../../src/common/tenancy/index.js';

class Box {
  @IsText({ max: 200, optional: true, example: 'Sweets' }) label?: string;
  @IsText({ max: 200, optional: true, example: 'Kitchen' }) place?: string;
}

class Step {
  @IsText({ max: 200, example: 'Stir well' }) text!: string;
}

class RecipeInput {
  @IsText({ max: 1_000, example: 'Crème brûlée' }) name!: string;
  @IsText({ max: 1_000, optional: true, example: 'From France' }) notes?: string;

  @IsTextList({ maxEntries: 20, entry: { max: 200 }, optional: true, example: ['dessert'] })
  labels?: string[];

  @IsNested(() => Box, { optional: true }) box?: Box;
  @IsListOf(() => Step, { max: 20, optional: true }) steps?: Step[];

  /** Shown, but not searched. */
  @IsText({ max: 200, optional: true, example: 'Ada' }) author?: string;
}

/** Isolated in every action, and searched in every kind of field that can be. */
@Schema({ timestamps: true })
class Recipe extends RecipeInput {
  @Prop({ type: Types.ObjectId, required: true }) @ApiProperty({ type: String }) tenant!: Types.ObjectId;
  @Prop({ type: String, select: false }) secret?: string;
}

/** What the searches of {@link recipes} read, in the order of the option. */
export const SEARCHED = ['name', 'notes', 'labels', 'box.label', 'steps.text'] as const;

export const recipesCrud = crudOptions({
  entity: Recipe,
  input: RecipeInput,
  name: 'recipes',
  isolationFields: { all: { tenant: currentTenant } },
  query: { filter: ['author'], sort: ['name', 'author'], search: SEARCHED },
  hooks: {
    beforeCreate: ({ record }) => {
      record.secret = 'hiddenword';
      if (record.author === 'hook') record.notes = 'seasoned by a hook';
    },
    beforeUpdate: ({ record }) => {
      if (record.author === 'hook') record.notes = 'stirred by a hook';
    },
  },
});

/** A new module of it for each application. */
export const recipes = () => CrudModule.forFeature(recipesCrud);
