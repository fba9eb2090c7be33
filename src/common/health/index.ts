import { Controller, Get, Injectable, Module, UseInterceptors } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProperty, ApiPropertyOptional, ApiTags } from '@nestjs/swagger';
import { Database } from '../database/index.js';
import { ApiProblems, ShuttingDownError } from '../errors/index.js';
import { StrictQueryInterceptor, UnderLoad } from '../http/index.js';

/** Whether this process has been told to stop. */
@Injectable()
export class ShutdownState {
  begun = false;
}

class HealthStatus {
  @ApiProperty({ enum: ['ok'] })
  status!: 'ok';
}

class Readiness extends HealthStatus {
  @ApiPropertyOptional({
    type: [String],
    description: 'Resources that answer INDEX_UNAVAILABLE, since the database cannot build an index of them.',
    example: ['posts'],
  })
  unavailable?: readonly string[];
}

/** Tells an orchestrator whether the process is alive and ready to serve. */
@ApiTags('Health')
@UseInterceptors(StrictQueryInterceptor)
@Controller('health')
export class HealthController {
  constructor(
    private readonly database: Database,
    private readonly shutdown: ShutdownState,
  ) {}

  @Get('live')
  @UnderLoad('taken')
  @ApiOperation({ operationId: 'health_live', summary: 'Whether the process runs; never asks the database' })
  @ApiOkResponse({ type: HealthStatus })
  @ApiProblems('VALIDATION_FAILED', 'INTERNAL_ERROR')
  live(): HealthStatus {
    return { status: 'ok' };
  }

  @Get('ready')
  @UnderLoad('taken')
  @ApiOperation({ operationId: 'health_ready', summary: 'Whether the process can serve requests now' })
  @ApiOkResponse({ type: Readiness })
  @ApiProblems('VALIDATION_FAILED', 'DATABASE_UNAVAILABLE', 'SHUTTING_DOWN', 'INTERNAL_ERROR')
  async ready(): Promise<Readiness> {
    if (this.shutdown.begun) throw new ShuttingDownError();
    await this.database.ping();
    const { unavailable } = this.database;
    return { status: 'ok', ...(unavailable.length > 0 && { unavailable }) };
  }
}

/**
 * Answers the probes of an orchestrator. `GET /health/live` always succeeds; `GET /health/ready` does while the database can
 * be reached and the process has not been told to stop.
 */
@Module({ controllers: [HealthController], providers: [ShutdownState], exports: [ShutdownState] })
export class HealthModule {}
