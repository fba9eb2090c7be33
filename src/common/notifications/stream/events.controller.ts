import { Controller, Get, Headers, Req, Res, UseInterceptors } from '@nestjs/common';
import { ApiBearerAuth, ApiHeader, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiProblems, InvalidTokenError } from '../../errors/index.js';
import { StrictQueryInterceptor, UnderLoad } from '../../http/index.js';
import { CurrentScope, currentTenant, Isolated, type TenantScope } from '../../tenancy/index.js';
import { EventStreams } from './event-streams.js';

const EXAMPLE = `: connected
id: evt_665f1c2ab7e3a90d4c8b4566

id: evt_665f1c2ab7e3a90d4c8b4567
event: posts.created
data: {"type":"posts.created","timestamp":"2026-01-31T12:00:00.000Z","data":{"_id":"665f1c2ab7e3a90d4c8b4567","title":"Release notes","tenant":"665f1c2ab7e3a90d4c8b0001","createdAt":"2026-01-31T12:00:00.000Z","updatedAt":"2026-01-31T12:00:00.000Z"}}

: heartbeat

`;

/** The live stream of a tenant's events. */
@ApiTags('Notifications')
@ApiBearerAuth()
@Isolated(() => ({ tenant: currentTenant }))
@UseInterceptors(StrictQueryInterceptor)
@Controller('events')
export class EventsController {
  constructor(private readonly streams: EventStreams) {}

  @Get()
  @UnderLoad('stream')
  @ApiOperation({
    operationId: 'events_stream',
    summary: 'Follow the events of your tenant',
    description:
      'A stream of Server-Sent Events, which goes on until the token expires: `id` of the event, `event` with its type, ' +
      '`data` with the same JSON as the body of a webhook. Comments every 15 seconds keep the connection alive. ' +
      'Send the last `id` that you have seen as `Last-Event-ID` to resume without a gap or a repeat; identifiers are ' +
      'known for 24 hours at least. A reader that does not keep up is cut off, and resumes.',
  })
  @ApiHeader({
    name: 'Last-Event-ID',
    required: false,
    description: 'Begin after this event. Without it, or with an empty one, the stream has new events alone.',
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
    @CurrentScope() { caller }: TenantScope,
    @Headers('last-event-id') lastEventId: string | undefined,
    @Req() { method }: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const request = {
      tenant: String(currentTenant(caller)),
      expires: expiryOf(caller.claims),
      lastEventId: lastEventId || undefined,
    };
    if (method === 'HEAD') await this.streams.head(request, reply);
    else await this.streams.open(request, reply);
  }
}

/**
 * When the token expires. For a single request, clock tolerance makes an expired token acceptable; a stream
 * would end at once.
 */
function expiryOf({ exp }: TenantScope['caller']['claims']): number {
  const expires = Number(exp);
  if (!(expires > Date.now() / 1_000)) throw new InvalidTokenError('ERR_JWT_EXPIRED');
  return expires;
}
