import { Prop } from '@nestjs/mongoose';
import { IsListOf, IsNested, IsText } from '../../src/common/fields/index.js';
import { feature, OF_TENANT } from './resource.js';

class Box {
  @IsText({ max: 200, optional: true }) label?: string;
  @IsText({ max: 200, optional: true }) place?: string;
}

class Step {
  @IsText({ max: 200 }) text!: string;
}

/** A resource that is isolated in every action, and searched in every kind of field that can be. */
export const recipes = () =>
  feature({
    name: 'recipes',
    fields: {
      name: IsText({ max: 1_000 }),
      notes: IsText({ max: 1_000, optional: true }),
      labels: IsListOf(IsText({ max: 200 }), { max: 20, optional: true }),
      box: IsNested(() => Box, { optional: true }),
      steps: IsListOf(() => Step, { max: 20, optional: true }),
      // Shown, but not searched.
      author: IsText({ max: 200, optional: true }),
    },
    ...OF_TENANT,
    kept: { ...OF_TENANT.kept, secret: Prop({ type: String, select: false }) },
    query: {
      filter: ['author'],
      sort: ['name', 'author'],
      search: ['name', 'notes', 'labels', 'box.label', 'steps.text'],
    },
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
