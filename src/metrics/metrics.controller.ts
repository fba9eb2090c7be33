import { hash, timingSafeEqual } from 'node:crypto';
import {
  applyDecorators,
  type CanActivate,
  Controller,
  Get,
  Header,
  type Type,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { ApiBearerAuth, ApiOkResponse, ApiOperation, ApiProduces, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { ApiProblems, type ErrorCode, InvalidTokenError } from '../common/errors/index.js';
import { StrictQueryInterceptor, UnderLoad } from '../common/http/index.js';
import { Metrics } from '../common/metrics/index.js';
import { bearerTokenOf } from '../common/tenancy/index.js';

/** Whether the route exists, and the bearer token that it requires, if any. */
export type MetricsAccess = { readonly metrics: 'on' | 'off'; readonly metricsToken?: string };

/** The controller of the route that Prometheus scrapes, if the route exists. */
export function metricsControllers({ metrics, metricsToken: token }: MetricsAccess): Type<unknown>[] {
  if (metrics === 'off') return [];
  const [description, ...problems]: [string, ...ErrorCode[]] =
    token === undefined
      ? ['']
      : [' Takes the token of the service’s own setting, and no other.', 'UNAUTHENTICATED', 'INVALID_TOKEN'];

  @ApiTags('Health')
  @UseInterceptors(StrictQueryInterceptor)
  @Controller('metrics')
  class MetricsController {
    constructor(private readonly metrics: Metrics) {}

    @Get()
    @UnderLoad('taken')
    @Header('Content-Type', Metrics.CONTENT_TYPE)
    @ApiOperation({
      operationId: 'metrics',
      summary:
        'Metrics of the process, its requests, the database and the notifications, in the text format of Prometheus',
      description: `Also answers while the database cannot be reached, without the metrics of the queue.${description}`,
    })
    @ApiProduces('text/plain')
    @ApiOkResponse({ content: { 'text/plain': { schema: { type: 'string' } } } })
    @ApiProblems('VALIDATION_FAILED', ...problems, 'INTERNAL_ERROR')
    read(): Promise<string> {
      return this.metrics.render();
    }
  }
  if (token !== undefined) applyDecorators(ApiBearerAuth(), UseGuards(guardOf(token)))(MetricsController);
  return [MetricsController];
}

/** Admits only requests with the token. */
function guardOf(token: string): CanActivate {
  // Texts of one length, so that the comparison always takes the same time.
  const hashOf = (text: string) => hash('sha256', text, 'buffer');
  return {
    canActivate(context) {
      const sent = bearerTokenOf(context.switchToHttp().getRequest<FastifyRequest>());
      if (!timingSafeEqual(hashOf(sent), hashOf(token))) throw new InvalidTokenError('METRICS_TOKEN');
      return true;
    },
  };
}
