import { Schema } from '@nestjs/mongoose';
import { TodoInput } from './dto/todo-input.js';

/** A todo as it is stored. */
@Schema({ timestamps: true })
export class Todo extends TodoInput {}
