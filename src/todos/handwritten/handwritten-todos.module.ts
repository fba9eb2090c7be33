import { Module } from '@nestjs/common';
import { MongooseModule } from '@nestjs/mongoose';
import { schemaOf } from '../../common/fields/index.js';
import { Todo } from '../todo.schema.js';
import { TodosController } from './todos.controller.js';
import { TodosService } from './todos.service.js';

/** Serves every list of todos, and its count. */
const schema = schemaOf(Todo).index({ createdAt: -1, _id: -1 });

@Module({
  imports: [MongooseModule.forFeature([{ name: Todo.name, schema, collection: 'todos' }])],
  controllers: [TodosController],
  providers: [TodosService],
})
export class HandwrittenTodosModule {}
