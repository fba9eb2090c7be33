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
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  ApiCreateBody,
  ApiFields,
  ApiIdempotencyKey,
  ApiIdParam,
  ApiIfMatch,
  ApiIfNoneMatch,
  ApiPaging,
  ApiSuccess,
  ApiUpdateBody,
  type Changes,
  createBodyPipe,
  type CreatedResult,
  type DeletedResult,
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
import { TodoCreate, TodoPage, TodoPart, TodoRecord, TodoUpdate } from './todo.dto.js';
import { TodosService } from './todos.service.js';

const PATH = 'todos';
const ANSWERS = { record: TodoRecord, page: TodoPage };
const FIELDS = ['_id', ...fieldsOf(TodoInput).map(({ name }) => name), 'createdAt', 'updatedAt'];

/** Texts about todos in the examples of errors. */
const EXAMPLES = { label: 'Todo' };
const UPDATE_EXAMPLES = { ...EXAMPLES, contentTypes: ['application/merge-patch+json', 'application/json'] };

/** The todo API written by hand: the same responses as the generated one, without the generator. */
@ApiTags('Todos')
@UseInterceptors(StrictQueryInterceptor)
@Controller(PATH)
export class TodosController {
  constructor(private readonly todos: TodosService) {}

  @Post()
  @StrictBody()
  @UseInterceptors(IdempotencyInterceptor)
  @ApiOperation({ operationId: 'todos_create', summary: 'Create a todo' })
  @ApiIdempotencyKey()
  @ApiCreateBody(TodoCreate)
  @ApiSuccess('create', PATH, ANSWERS)
  @ApiProblemsOf(
    EXAMPLES,
    'VALIDATION_FAILED',
    'MALFORMED_REQUEST',
    'BODY_TOO_LARGE',
    'UNSUPPORTED_MEDIA_TYPE',
    'IDEMPOTENCY_KEY_IN_USE',
    'IDEMPOTENCY_KEY_REUSED',
    ...LOAD_ERRORS,
    'DATABASE_UNAVAILABLE',
    'INTERNAL_ERROR',
  )
  async create(
    @Body(createBodyPipe(TodoInput)) input: TodoInput,
    @Headers('prefer') prefer: string | undefined,
    @CurrentReservation() reservation: Reservation | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<CreatedResult | TodoRecord> {
    const todo = await this.todos.create(input, reservation);
    const record = TodoRecord.from(todo);
    varyBy(reply, 'Prefer');
    reply.headers({ Location: `/${PATH}/${record._id}`, ETag: etagOf(todo) });
    if (!prefersRepresentation(prefer)) return { _id: record._id };
    reply.header('Preference-Applied', 'return=representation');
    return record;
  }

  @Get()
  @TakesQuery('offset', 'limit')
  @Compressed()
  @ApiOperation({ operationId: 'todos_list', summary: 'List todos, newest first' })
  @ApiPaging()
  @ApiSuccess('list', PATH, ANSWERS)
  @ApiProblemsOf(
    EXAMPLES,
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
  ): Promise<StreamableFile | TodoPage> {
    if (!query) {
      const stream = await streamJsonArray(this.todos.list(), TodoRecord.from, request);
      return new StreamableFile(stream, { type: 'application/json; charset=utf-8' });
    }
    const { results, count } = await this.todos.page(query);
    reply.header('Link', new Page(results, count, query).links(`/${PATH}`));
    return { results: results.map(TodoRecord.from), count };
  }

  @Get(':id')
  @TakesQuery('fields')
  @ApiOperation({ operationId: 'todos_get', summary: 'Get one todo' })
  @ApiIdParam('Todo')
  @ApiIfNoneMatch()
  @ApiFields(FIELDS)
  @ApiSuccess('get', PATH, { ...ANSWERS, part: TodoPart })
  @ApiProblemsOf(
    EXAMPLES,
    'VALIDATION_FAILED',
    'INVALID_ID',
    'URI_TOO_LONG',
    'RECORD_NOT_FOUND',
    ...LOAD_ERRORS,
    'DATABASE_UNAVAILABLE',
    'INTERNAL_ERROR',
  )
  async get(
    @Param('id', IdPipe) id: string,
    @Query('fields', fieldsPipe(FIELDS)) fields: string[] | undefined,
    @Headers('if-none-match') ifNoneMatch: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Partial<TodoRecord> | undefined> {
    const tags = readEntityTags('If-None-Match', ifNoneMatch);
    const todo = await this.todos.get(id);
    reply.header('ETag', etagOf(todo));
    if (!isKnown(tags, todo)) return project(TodoRecord.from(todo), fields);
    reply.code(304);
    return undefined;
  }

  @Patch(':id')
  @StrictBody()
  @ApiOperation({ operationId: 'todos_update', summary: 'Update a todo' })
  @ApiIdParam('Todo')
  @ApiIfMatch()
  @ApiUpdateBody(TodoUpdate)
  @ApiSuccess('update', PATH, ANSWERS)
  @ApiProblemsOf(
    UPDATE_EXAMPLES,
    'VALIDATION_FAILED',
    'MALFORMED_REQUEST',
    'INVALID_ID',
    'URI_TOO_LONG',
    'RECORD_NOT_FOUND',
    'PRECONDITION_FAILED',
    'BODY_TOO_LARGE',
    'UNSUPPORTED_MEDIA_TYPE',
    ...LOAD_ERRORS,
    'DATABASE_UNAVAILABLE',
    'INTERNAL_ERROR',
  )
  async update(
    @Param('id', IdPipe) id: string,
    @Body(updateBodyPipe(TodoInput)) changes: Changes<TodoInput>,
    @Headers('if-match') ifMatch: string | undefined,
    @Headers('prefer') prefer: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<UpdatedResult | TodoRecord> {
    const todo = await this.todos.update(id, changes, readEntityTags('If-Match', ifMatch));
    varyBy(reply, 'Prefer');
    if (!prefersRepresentation(prefer)) return { updated: true };
    reply.headers({ ETag: etagOf(todo), 'Preference-Applied': 'return=representation' });
    return TodoRecord.from(todo);
  }

  @Delete(':id')
  @ApiOperation({ operationId: 'todos_del', summary: 'Delete a todo' })
  @ApiIdParam('Todo')
  @ApiIfMatch()
  @ApiSuccess('del', PATH, ANSWERS)
  @ApiProblemsOf(
    EXAMPLES,
    'VALIDATION_FAILED',
    'INVALID_ID',
    'URI_TOO_LONG',
    'RECORD_NOT_FOUND',
    'PRECONDITION_FAILED',
    ...LOAD_ERRORS,
    'DATABASE_UNAVAILABLE',
    'INTERNAL_ERROR',
  )
  async del(
    @Param('id', IdPipe) id: string,
    @Headers('if-match') ifMatch: string | undefined,
  ): Promise<DeletedResult> {
    await this.todos.del(id, readEntityTags('If-Match', ifMatch));
    return { deleted: true };
  }
}
