/**
 * The todo API as in most NestJS projects: Express, a ValidationPipe with class-validator, and Mongoose
 * models with hydrated documents.
 */
import 'reflect-metadata';
import {
  Body,
  Controller,
  Get,
  HttpCode,
  Injectable,
  Module,
  NotFoundException,
  Param,
  Patch,
  Post,
  Query,
  ValidationPipe,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { InjectModel, MongooseModule, Prop, Schema, SchemaFactory } from '@nestjs/mongoose';
import { Type } from 'class-transformer';
import {
  IsBoolean,
  IsInt,
  IsISO8601,
  IsMongoId,
  IsOptional,
  IsString,
  Matches,
  Max,
  MaxLength,
  Min,
} from 'class-validator';
import { type HydratedDocument, Model } from 'mongoose';

@Schema({ collection: 'todos', timestamps: true, autoIndex: false, autoCreate: false })
class Todo {
  @Prop({ required: true })
  title!: string;

  @Prop()
  description?: string;

  @Prop({ default: false })
  completed!: boolean;

  @Prop()
  dueAt?: Date;

  /** The service stores the words of its search in the same records. */
  @Prop({ type: Object, select: false })
  _words?: object;
}

const TITLE = /^\s*\S(?:[\s\S]{0,198}\S)?\s*$/u;

class CreateTodo {
  @IsString()
  @MaxLength(1_000)
  @Matches(TITLE)
  title!: string;

  @IsOptional()
  @IsString()
  @MaxLength(10_000)
  description?: string;

  @IsOptional()
  @IsBoolean()
  completed?: boolean;

  @IsOptional()
  @IsISO8601({ strict: true, strictSeparator: true })
  dueAt?: string;
}

class UpdateTodo {
  @IsOptional()
  @IsString()
  @MaxLength(1_000)
  @Matches(TITLE)
  title?: string;

  @IsOptional()
  @IsString()
  @MaxLength(10_000)
  description?: string;

  @IsOptional()
  @IsBoolean()
  completed?: boolean;

  @IsOptional()
  @IsISO8601({ strict: true, strictSeparator: true })
  dueAt?: string;
}

class TodoId {
  @IsMongoId()
  id!: string;
}

class PageQuery {
  @IsInt()
  @Min(0)
  @Type(() => Number)
  offset = 0;

  @IsInt()
  @Min(1)
  @Max(100)
  @Type(() => Number)
  limit = 20;
}

@Injectable()
class TodosService {
  constructor(@InjectModel(Todo.name) private readonly todos: Model<Todo>) {}

  async get(id: string): Promise<HydratedDocument<Todo>> {
    const todo = await this.todos.findById(id);
    if (!todo) throw new NotFoundException('Todo not found');
    return todo;
  }

  async page({ offset, limit }: PageQuery): Promise<{ results: HydratedDocument<Todo>[]; count: number }> {
    const [results, count] = await Promise.all([
      this.todos.find().sort({ createdAt: -1, _id: -1 }).skip(offset).limit(limit),
      this.todos.countDocuments(),
    ]);
    return { results, count };
  }

  create(input: CreateTodo): Promise<HydratedDocument<Todo>> {
    return this.todos.create(input);
  }

  async update(id: string, changes: UpdateTodo): Promise<void> {
    const todo = await this.todos.findByIdAndUpdate(id, changes, { runValidators: true });
    if (!todo) throw new NotFoundException('Todo not found');
  }
}

@Controller('todos')
class TodosController {
  constructor(private readonly todos: TodosService) {}

  @Get(':id')
  get(@Param() { id }: TodoId): Promise<HydratedDocument<Todo>> {
    return this.todos.get(id);
  }

  @Get()
  list(@Query() query: PageQuery): Promise<{ results: HydratedDocument<Todo>[]; count: number }> {
    return this.todos.page(query);
  }

  @Post()
  @HttpCode(201)
  async create(@Body() input: CreateTodo): Promise<{ _id: string }> {
    const { _id } = await this.todos.create(input);
    return { _id: _id.toHexString() };
  }

  @Patch(':id')
  async update(@Param() { id }: TodoId, @Body() changes: UpdateTodo): Promise<{ updated: true }> {
    await this.todos.update(id, changes);
    return { updated: true };
  }
}

@Module({
  imports: [
    MongooseModule.forRoot(process.env.MONGODB_URI ?? ''),
    MongooseModule.forFeature([{ name: Todo.name, schema: SchemaFactory.createForClass(Todo) }]),
  ],
  controllers: [TodosController],
  providers: [TodosService],
})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ['error'] });
app.useGlobalPipes(new ValidationPipe({ transform: true, whitelist: true, forbidNonWhitelisted: true }));
app.enableShutdownHooks();
await app.listen(Number(process.env.PORT), process.env.HOST ?? '127.0.0.1');
process.stdout.write(`Listening on ${await app.getUrl()}\n`);
