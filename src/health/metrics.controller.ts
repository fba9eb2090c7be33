import { Controller, Get, Header } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProduces, ApiTags } from '@nestjs/swagger';
import { ApiProblems } from '../common/errors/index.js';
import { UnderLoad } from '../common/http/index.js';
import { Metrics } from '../common/metrics/index.js';

/** Figures for Prometheus. */
@ApiTags('Health')
@Controller('metrics')
export class MetricsController {
  constructor(private readonly metrics: Metrics) {}

  @Get()
  @UnderLoad('taken')
  @Header('Content-Type', Metrics.CONTENT_TYPE)
  @ApiOperation({
    operationId: 'metrics',
    summary:
      'Figures of the process, its requests, the database and the notifications, in the text format of Prometheus',
    description:
      'Also answers while the database cannot be reached: `notifications_queue_up` is 0 then, and the figures of the queue are absent.',
  })
  @ApiProduces('text/plain')
  @ApiOkResponse({ content: { 'text/plain': { schema: { type: 'string' } } } })
  @ApiProblems('VALIDATION_FAILED', 'INTERNAL_ERROR')
  read(): Promise<string> {
    return this.metrics.render();
  }
}
