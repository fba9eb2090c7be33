import {
  Body,
  Controller,
  Delete,
  Get,
  Headers,
  Param,
  Patch,
  Post,
  Query,
  Req,
  Res,
  StreamableFile,
  UseInterceptors,
} from '@nestjs/common';
import {
  ApiExtraModels,
  ApiOkResponse,
  ApiOperation,
  ApiQuery,
  ApiTags,
  getSchemaPath,
} from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  type Changes,
  createBodyPipe,
  type CreatedResult,
  type DeletedResult,
  documentationOf,
  etagOf,
  fieldsPipe,
  IdPipe,
  isKnown,
  Page,
  type PagePosition,
  PageQueryPipe,
  prefersRepresentation,
  project,
  readEntityTags,
  schemaClass,
  type Stored,
  streamJsonArray,
  updateBodyPipe,
  type UpdatedResult,
  varyBy,
} from '../../common/crud/index.js';
import { ApiProblemsOf, LOAD_ERRORS } from '../../common/errors/index.js';
import { fieldsOf } from '../../common/fields/index.js';
import { Compressed, StrictBody, StrictQueryInterceptor, TakesQuery } from '../../common/http/index.js';
import {
  CurrentReservation,
  IdempotencyInterceptor,
  type Reservation,
} from '../../common/idempotency/index.js';
import { TodoInput } from '../dto/todo-input.js';
import { Todo } from '../todo.schema.js';
import { TodosService } from './todos.service.js';

const PATH = 'todos';
const FIELDS = ['_id', ...fieldsOf(TodoInput).map(({ name }) => name), 'createdAt', 'updatedAt'];

/** A todo as clients see it: the fields that it picks from a stored one. */
function shown({ _id, completed = false, ...todo }: Stored<Todo>) {
  const { title, description, dueAt, createdAt, updatedAt } = todo;
  return { _id: _id.toHexString(), title, description, completed, dueAt, createdAt, updatedAt };
}

type TodoRecord = ReturnType<typeof shown>;

/** The response to a write: the whole record, if the client prefers that (RFC 7240). */
function written<T>(todo: Stored<Todo>, result: T, prefer: string | undefined, reply: FastifyReply) {
  varyBy(reply, 'Prefer');
  reply.header('ETag', etagOf(todo));
  if (!prefersRepresentation(prefer)) return result;
  reply.header('Preference-Applied', 'return=representation');
  return shown(todo);
}

/** One page of todos. */
const TodoPage = schemaClass('TodoPage', {
  properties: {
    results: { type: 'array', items: { $ref: '#/components/schemas/Todo' }, maxItems: 100 },
    count: { type: 'integer', minimum: 0, description: 'Number of records in all, whatever the page' },
  },
  required: ['results', 'count'],
});

/** The document says of these handlers what it says of generated ones. */
const Documented = documentationOf({ entity: Todo, input: TodoInput, name: PATH, tag: 'Todos' });

/** The todo API written by hand: the same responses as the generated one, without the generator. */
@ApiTags('Todos')
@UseInterceptors(StrictQueryInterceptor)
@Controller(PATH)
export class TodosController {
  constructor(private readonly todos: TodosService) {}

  @Post()
  @StrictBody()
  @UseInterceptors(IdempotencyInterceptor)
  @Documented('create')
  async create(
    @Body(createBodyPipe(TodoInput)) input: TodoInput,
    @Headers('prefer') prefer: string | undefined,
    @CurrentReservation() reservation: Reservation | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<CreatedResult | TodoRecord> {
    const todo = await this.todos.create(input, reservation);
    const _id = todo._id.toHexString();
    reply.header('Location', `/${PATH}/${_id}`);
    return written(todo, { _id }, prefer, reply);
  }

  @Get()
  @TakesQuery('offset', 'limit')
  @Compressed()
  @ApiOperation({ operationId: 'todos_list', summary: 'List todos, newest first' })
  // Decorators apply from the bottom up.
  @ApiQuery({
    name: 'limit',
    required: false,
    description: 'Maximum number of records per page. 20 if only another page parameter is there.',
    schema: { type: 'integer', minimum: 1, maximum: 100 },
  })
  @ApiQuery({
    name: 'offset',
    required: false,
    description:
      'Number of records to skip. With it or `limit` the answer is a page; without both, every record.',
    schema: { type: 'integer', minimum: 0, default: 0 },
  })
  @ApiExtraModels(TodoPage)
  @ApiOkResponse({
    description: 'Every record, newest first; with `offset` or `limit`, one page',
    headers: {
      Link: {
        description: 'On a page: first, prev, next and last page (RFC 8288)',
        schema: { type: 'string', example: `</${PATH}?offset=0&limit=20>; rel="first"` },
      },
    },
    schema: {
      oneOf: [{ type: 'array', items: { $ref: getSchemaPath(Todo) } }, { $ref: getSchemaPath(TodoPage) }],
    },
  })
  @ApiProblemsOf(
    { label: Todo.name },
    'VALIDATION_FAILED',
    'TOO_MANY_STREAMS',
    ...LOAD_ERRORS,
    'DATABASE_UNAVAILABLE',
    'INTERNAL_ERROR',
  )
  async list(
    @Query(PageQueryPipe) query: PagePosition | undefined,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<StreamableFile | { results: TodoRecord[]; count: number }> {
    if (!query) {
      const stream = await streamJsonArray(this.todos.list(), shown, request);
      return new StreamableFile(stream, { type: 'application/json; charset=utf-8' });
    }
    const { results, count } = await this.todos.page(query);
    reply.header('Link', new Page(results, count, query).links(`/${PATH}`));
    return { results: results.map(shown), count };
  }

  @Get(':id')
  @TakesQuery('fields')
  @Documented('get')
  async get(
    @Param('id', IdPipe) id: string,
    @Query('fields', fieldsPipe(FIELDS)) fields: string[] | undefined,
    @Headers('if-none-match') ifNoneMatch: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Partial<TodoRecord> | undefined> {
    const tags = readEntityTags('If-None-Match', ifNoneMatch);
    const todo = await this.todos.get(id);
    reply.header('ETag', etagOf(todo));
    if (!isKnown(tags, todo)) return project(shown(todo), fields);
    reply.code(304);
    return undefined;
  }

  @Patch(':id')
  @StrictBody()
  @Documented('update')
  async update(
    @Param('id', IdPipe) id: string,
    @Body(updateBodyPipe(TodoInput)) changes: Changes<TodoInput>,
    @Headers('if-match') ifMatch: string | undefined,
    @Headers('prefer') prefer: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<UpdatedResult | TodoRecord> {
    const todo = await this.todos.update(id, changes, readEntityTags('If-Match', ifMatch));
    return written(todo, { updated: true }, prefer, reply);
  }

  @Delete(':id')
  @Documented('del')
  async del(
    @Param('id', IdPipe) id: string,
    @Headers('if-match') ifMatch: string | undefined,
  ): Promise<DeletedResult> {
    await this.todos.del(id, readEntityTags('If-Match', ifMatch));
    return { deleted: true };
  }
}
