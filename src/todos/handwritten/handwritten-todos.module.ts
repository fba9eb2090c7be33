import { Module } from '@nestjs/common';
import { MongooseModule } from '@nestjs/mongoose';
import { resetsSearchIndex } from '../../common/crud/index.js';
import { CRUD_CONNECTION } from '../../common/database/index.js';
import { schemaOf } from '../../common/fields/index.js';
import { IdempotencyModule } from '../../common/idempotency/index.js';
import { Todo } from '../todo.schema.js';
import { TodosController } from './todos.controller.js';
import { TodosService } from './todos.service.js';

/** An index for every list of todos, and its count. */
const schema = schemaOf(Todo).index({ createdAt: -1, _id: -1 });

@Module({
  imports: [
    IdempotencyModule,
    MongooseModule.forFeature([{ name: Todo.name, schema, collection: 'todos' }], CRUD_CONNECTION),
  ],
  controllers: [TodosController],
  // The generated implementation searches by words that this one does not store.
  providers: [TodosService, resetsSearchIndex('todos')],
})
export class HandwrittenTodosModule {}
