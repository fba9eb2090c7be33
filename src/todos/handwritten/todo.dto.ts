import { schemaClass, type Stored } from '../../common/crud/index.js';
import type { Todo } from '../todo.schema.js';

/** A todo as clients see it: the fields that it picks from a stored one. */
export function shown({ _id, completed = false, ...todo }: Stored<Todo>) {
  const { title, description, dueAt, createdAt, updatedAt } = todo;
  return { _id: _id.toHexString(), title, description, completed, dueAt, createdAt, updatedAt };
}

export type TodoRecord = ReturnType<typeof shown>;

/** One page of todos. */
export const TodoPage = schemaClass('TodoPage', {
  properties: {
    results: { type: 'array', items: { $ref: '#/components/schemas/Todo' }, maxItems: 100 },
    count: { type: 'integer', minimum: 0, description: 'Number of records in all, whatever the page' },
  },
  required: ['results', 'count'],
});
