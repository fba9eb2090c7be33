import { type DynamicModule, Module } from '@nestjs/common';
import { CrudModule } from '../common/crud/index.js';
import { TodoInput } from './dto/todo-input.js';
import { HandwrittenTodosModule } from './handwritten/handwritten-todos.module.js';
import { Todo } from './todo.schema.js';

/** The todo API in one of its two implementations, which behave alike; see `TODOS_API`. */
@Module({})
export class TodosModule {
  static forRoot({ implementation }: { implementation: 'generated' | 'handwritten' }): DynamicModule {
    return {
      module: TodosModule,
      imports: [
        implementation === 'handwritten'
          ? HandwrittenTodosModule
          : CrudModule.forFeature({
              entity: Todo,
              input: TodoInput,
              name: 'todos',
              tag: 'Todos',
              query: {
                filter: ['_id', 'title', 'completed', 'dueAt', 'createdAt', 'updatedAt'],
                sort: ['-createdAt', '-updatedAt', 'dueAt', 'title', ['completed', 'dueAt']],
                search: ['title', 'description'],
              },
              bulk: true,
              import: true,
            }),
      ],
    };
  }
}
