import { createRequire } from 'node:module';
import type { LoggerService } from '@nestjs/common';
import { type Logger, type LoggerOptions, pino } from 'pino';
import PinoPretty from 'pino-pretty';
import { LogController, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import {
  describeError,
  escapeControls,
  isOfOutage,
  reasonOf,
  OverloadedError,
  pathOf,
} from '../errors/index.js';

/** Names under which Nest itself logs every module and route at the start. */
const NESTS_OWN = new Set([
  'NestFactory',
  'InstanceLoader',
  'RoutesResolver',
  'RouterExplorer',
  'NestApplication',
]);

/** Log lines for a terminal, each with the name of the logger. */
const TERMINAL = {
  colorize: true,
  sync: true,
  singleLine: true,
  translateTime: 'SYS:HH:MM:ss',
  ignore: 'context',
  messageFormat: '{if context}{context}: {end}{msg}',
} as const;

/** The process's log: one JSON object a line, or coloured lines in a terminal. */
export function createLog(
  level: string,
  out: NodeJS.WritableStream & { isTTY?: boolean } = process.stdout,
): Logger {
  const outages = new Outages();
  const options: LoggerOptions = {
    level,
    base: undefined,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    errorKey: 'error',
    // Fastify's own lines call it `err`.
    serializers: { error: describeError, err: describeError },
    hooks: {
      logMethod(args, method) {
        const write = (line: typeof args) =>
          method.apply(this, out.isTTY ? (line.map(escaped) as typeof args) : line);
        if (!outages.counts(args, write)) write(args);
      },
    },
  };
  // The reader of the log may end before this process, which continues without a log.
  out.on('error', () => undefined);
  if (out === process.stdout && !out.isTTY) return pino(options, new LogLines(out));
  if (!out.isTTY) return pino(options, out);
  // Loaded only for a terminal.
  const pretty = createRequire(import.meta.url)('pino-pretty') as typeof PinoPretty;
  return pino(options, pretty({ ...TERMINAL, destination: out }));
}

/** Escapes a message for a terminal, where a line break in it would start a new line. */
function escaped(argument: unknown): unknown {
  return typeof argument === 'string' ? escapeControls(argument) : argument;
}

/**
 * Lets Nest and the features write to the log: `logger.warn({ …fields }, 'message')` or
 * `logger.warn('message')`.
 */
export class PinoLogger implements LoggerService {
  constructor(private readonly log_: Logger) {}

  log(...args: unknown[]): void {
    this.write(NESTS_OWN.has(String(args.at(-1))) ? 'debug' : 'info', args);
  }

  error(...args: unknown[]): void {
    this.write('error', args);
  }

  warn(...args: unknown[]): void {
    this.write('warn', args);
  }

  debug(...args: unknown[]): void {
    this.write('debug', args);
  }

  verbose(...args: unknown[]): void {
    this.write('trace', args);
  }

  fatal(...args: unknown[]): void {
    this.write('fatal', args);
  }

  /**
   * Nest's Logger appends its context, the name of the logger, as the last argument; errors have a stack
   * before it.
   */
  private write(level: 'info' | 'error' | 'warn' | 'debug' | 'trace' | 'fatal', args: unknown[]): void {
    const [first, ...rest] = args;
    const context = rest.at(-1);
    if (typeof first === 'object' && first !== null && !(first instanceof Error)) {
      this.log_[level]({ context: rest.length > 1 ? context : undefined, ...first }, String(rest[0] ?? ''));
      return;
    }
    const stack = rest.length > 1 ? rest[0] : undefined;
    this.log_[level]({ context, stack, error: first instanceof Error ? first : undefined }, String(first));
  }
}

/**
 * Writes the log lines of one turn of the event loop together: under load, a system call per line costs more
 * than the line. Lines that still wait when the process exits are written then.
 */
class LogLines {
  private waiting = '';

  constructor(private readonly out: NodeJS.WritableStream) {
    process.on('exit', () => this.flush());
  }

  /** Takes a complete line, including its line break. */
  write(line: string): void {
    if (this.waiting === '') setImmediate(() => this.flush());
    this.waiting += line;
  }

  private flush(): void {
    if (this.waiting === '') return;
    this.out.write(this.waiting);
    this.waiting = '';
  }
}

/** How long equal lines are counted before the log has their number. Unit: milliseconds. */
const COUNTED_MS = 60_000;

/** Maximum number of causes that are told apart; the text of a cause may come from elsewhere. */
const MAX_CAUSES = 100;

/** The arguments of one call of the log: fields and a message. */
type Line = readonly unknown[];

/** The lines of one cause within a minute. */
interface Cause {
  count: number;
  last: Record<string, unknown>;
}

/**
 * What is out of order, as far as lines marked with `OUTAGE` tell: the first line of a cause is written at once,
 * and then each minute one with the `count` of those that followed, until there are none.
 */
class Outages {
  private readonly causes = new Map<string, Cause>();

  /**
   * Whether the line is one of those that are only counted.
   *
   * @param write writes the line with the count, in time
   */
  counts<L extends Line>([fields, message, ...rest]: L, write: (line: L) => void): boolean {
    if (!isOfOutage(fields)) return false;
    const key = this.keyOf(fields, message);
    const known = this.causes.get(key);
    if (known) {
      known.count += 1;
      known.last = fields;
      return true;
    }
    const cause: Cause = { count: 0, last: fields };
    this.causes.set(key, cause);
    const timer = setInterval(() => {
      if (cause.count > 0) write([{ ...cause.last, count: cause.count }, message, ...rest] as never);
      else {
        clearInterval(timer);
        this.causes.delete(key);
      }
      cause.count = 0;
    }, COUNTED_MS).unref();
    return false;
  }

  /** Numbers, such as those of connections, differ from line to line. */
  private keyOf({ context, code, reason, error }: Record<string, unknown>, message: unknown): string {
    const why = reason ?? (error === undefined ? undefined : reasonOf(error));
    const key = JSON.stringify([context, message, code, why]).replaceAll(/\d+/g, '0');
    return this.causes.has(key) || this.causes.size < MAX_CAUSES ? key : 'others';
  }
}

/**
 * Logs one line per request when its response has been sent or given up: caller, method, path, address and
 * result. Omits the query and headers because they may be secret.
 */
export function useRequestLog(fastify: FastifyInstance): void {
  fastify.addHook('onResponse', (request, reply, done) => {
    write(request, reply, 'answered');
    done();
  });
  fastify.addHook('onRequestAbort', (request, done) => {
    // This side has closed the connection.
    if (!brokenOff.has(request)) request.log.info(lineOf(request), 'client went away');
    done();
  });
}

/** Requests whose answer has failed after its head was sent. */
const brokenOff = new WeakSet<FastifyRequest>();

/** Has Fastify log nothing of requests, except for a failure that their answers can no longer tell. */
export class AnswerLog extends LogController {
  constructor() {
    super({ disableRequestLogging: true, requestIdLogLabel: 'requestId' });
  }

  override streamError(error: Error, request: FastifyRequest): void {
    // The client went away, and has a line of its own.
    if ('code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE') return;
    brokenOff.add(request);
    if (error instanceof OverloadedError) {
      request.log.info({ ...lineOf(request), code: error.code }, 'answer broke off');
      return;
    }
    request.log.error({ ...lineOf(request), error }, 'answer broke off');
  }
}

function write(request: FastifyRequest, reply: FastifyReply, message: string): void {
  const ms = Math.round(reply.elapsedTime * 10) / 10;
  request.log.info({ ...lineOf(request), status: reply.statusCode, ms, ...request.problem }, message);
}

function lineOf(request: FastifyRequest): object {
  const { tenant, subject } = request.tenantContext ?? {};
  return { method: request.method, path: pathOf(request), address: request.ip, tenant, subject };
}
