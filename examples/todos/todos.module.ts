import { Module } from '@nestjs/common';
import { Schema } from '@nestjs/mongoose';
import { CrudModule } from '../../src/common/crud/index.js';
import { IsFlag, IsText, IsTimestamp } from '../../src/common/fields/index.js';
import { claim } from '../../src/common/tenancy/index.js';

class TodoInput {
  @IsText({ min: 1, max: 200, example: 'Water the plants' })
  title!: string;

  @IsFlag({ default: false })
  done!: boolean;

  @IsTimestamp({ optional: true, example: '2026-12-24T18:00:00.000Z' })
  due?: Date;
}

@Schema({ timestamps: true })
class Todo extends TodoInput {
  @IsText({ min: 1, max: 200, example: 'ada', description: 'Whose it is: the subject of the token' })
  owner!: string;
}

@Module({
  imports: [
    CrudModule.forFeature({
      entity: Todo,
      input: TodoInput,
      name: 'todos',
      tag: 'Todos',
      query: { filter: ['title', 'done', 'due'], sort: ['due', ['done', 'due']] },
      isolationFields: { all: { owner: claim('sub') } },
    }),
  ],
})
export class TodosModule {}
