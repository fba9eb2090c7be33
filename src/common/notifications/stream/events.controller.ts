import { Controller, Get, Headers, Req, Res, UseFilters, UseInterceptors } from '@nestjs/common';
import { ApiBearerAuth, ApiHeader, ApiOkResponse, ApiOperation, ApiQuery, ApiTags } from '@nestjs/swagger';
import {
  ApiProblems,
  errorMessages,
  InvalidTokenError,
  ProblemFilter,
  ValidationError,
} from '../../errors/index.js';
import { queryOf, StrictQueryInterceptor, TakesQuery, UnderLoad } from '../../http/index.js';
import type { HttpRequest, HttpResponse } from '../../request/index.js';
import { applyScope, currentTenant, Isolated, type TenantScope } from '../../tenancy/index.js';
import { EventTypes } from '../event-types.js';
import { EventStreams } from './event-streams.js';

const EXAMPLE = `: connected
id: evt_665f1c2ab7e3a90d4c8b4566

id: evt_665f1c2ab7e3a90d4c8b4567
event: posts.created
data: {"type":"posts.created","timestamp":"2026-01-31T12:00:00.000Z","data":{"_id":"665f1c2ab7e3a90d4c8b4567","title":"Release notes","tenant":"665f1c2ab7e3a90d4c8b0001","createdAt":"2026-01-31T12:00:00.000Z","updatedAt":"2026-01-31T12:00:00.000Z"}}

: heartbeat

`;

const ISOLATION = { tenant: currentTenant };

/** The live stream of a tenant's events. */
@ApiTags('Notifications')
@ApiBearerAuth()
@Isolated(() => [ISOLATION])
@UseInterceptors(StrictQueryInterceptor)
@UseFilters(ProblemFilter)
@Controller('events')
export class EventsController {
  constructor(
    private readonly streams: EventStreams,
    private readonly types: EventTypes,
  ) {}

  @Get()
  @UnderLoad('stream')
  @TakesQuery('types')
  @ApiOperation({
    operationId: 'events_stream',
    summary: 'Follow the events of your tenant',
    description:
      'A stream of Server-Sent Events, which goes on until the token expires: `id` of the event, `event` with its type, ' +
      '`data` with the same JSON as the body of a webhook. Comments every 15 seconds keep the connection alive. ' +
      'Send the last `id` that you have seen as `Last-Event-ID` to resume without a gap or a repeat; identifiers are ' +
      'known for 24 hours at least. A reader that does not keep up is cut off, and resumes. An explorer that waits for ' +
      'the end of an answer shows nothing: follow the stream with `curl -N`.',
  })
  @ApiQuery({
    name: 'types',
    required: false,
    description: 'Only events of these types, separated by commas; `posts.*` names all of a resource.',
    schema: { type: 'string' },
    example: 'posts.*',
  })
  @ApiHeader({
    name: 'Last-Event-ID',
    required: false,
    description:
      'Begin after this event, whatever its type. Without it, or with an empty one, the stream has new events alone.',
    // No example: the explorer would send it, and no event has it.
    schema: { type: 'string' },
  })
  @ApiOkResponse({
    description: 'The events, as long as the stream is open',
    content: { 'text/event-stream': { schema: { type: 'string' }, example: EXAMPLE } },
  })
  @ApiProblems(
    'VALIDATION_FAILED',
    'UNKNOWN_EVENT',
    'UNAUTHENTICATED',
    'INVALID_TOKEN',
    'INSUFFICIENT_SCOPE',
    'TENANT_REQUIRED',
    'TOO_MANY_REQUESTS',
    'TOO_MANY_STREAMS',
    'OVERLOADED',
    'SHUTTING_DOWN',
    'DATABASE_UNAVAILABLE',
    'INTERNAL_ERROR',
  )
  async stream(
    @Headers('last-event-id') lastEventId: string | undefined,
    @Req() request: HttpRequest,
    @Res() reply: HttpResponse,
  ): Promise<void> {
    const { caller } = applyScope(request, ISOLATION);
    const stream = {
      tenant: String(currentTenant(caller)),
      expires: expiryOf(caller.claims),
      lastEventId: lastEventId || undefined,
      types: this.typesOf(request),
      closing: request.crudPlatform.closing,
    };
    await this.streams.open(stream, reply);
  }

  /** @throws ValidationError that lists the known types if there is another one, or none */
  private typesOf(request: HttpRequest): readonly string[] | undefined {
    const { types } = queryOf(request);
    if (types === undefined) return undefined;
    const wanted = String(types).split(',');
    if (wanted.every((type) => this.types.violationOf(type) === undefined)) return wanted;
    const shape = `some of ${this.types.known.join(', ')}, separated by commas`;
    throw new ValidationError([{ parameter: 'types', detail: errorMessages.wrongParameter('types', shape) }]);
  }
}

/** When the token expires. With clock tolerance, an expired one is accepted; its stream would end at once. */
function expiryOf({ exp }: TenantScope['caller']['claims']): number {
  const expires = Number(exp);
  if (!(expires > Date.now() / 1_000)) throw new InvalidTokenError('ERR_JWT_EXPIRED');
  return expires;
}
