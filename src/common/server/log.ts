import { createRequire } from 'node:module';
import type { LoggerService } from '@nestjs/common';
import { destination, type Level, type LogFn, type Logger, type LoggerOptions, pino } from 'pino';
import PinoPretty from 'pino-pretty';
import { describeError, escapeControls, isOfOutage, reasonOf } from '../errors/index.js';

/** Names under which Nest itself logs every module and route at the start. */
const NESTS_OWN = /^(?:NestFactory|InstanceLoader|RoutesResolver|RouterExplorer|NestApplication)$/;

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
  const options: LoggerOptions = {
    level,
    base: undefined,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    errorKey: 'error',
    // Fastify's own lines call it `err`.
    serializers: { error: describeError, err: describeError },
    ...(out.isTTY && {
      hooks: {
        // A line break in a message would start a new line in a terminal.
        logMethod(args: Parameters<LogFn>, method: LogFn) {
          const escaped = args.map((arg: unknown) => (typeof arg === 'string' ? escapeControls(arg) : arg));
          method.apply(this, escaped as typeof args);
        },
      },
    }),
  };
  // The reader of the log may end before this process, which continues without a log.
  out.on('error', () => undefined);
  // Under load, a system call per line costs more than the line.
  if (!out.isTTY) return pino(options, out === process.stdout ? destination({ sync: false }) : out);
  // Loaded only for a terminal.
  const pretty = createRequire(import.meta.url)('pino-pretty') as typeof PinoPretty;
  return pino(options, pretty({ ...TERMINAL, destination: out }));
}

/** Lets Nest and the features write to the log: `logger.warn({ …fields }, 'message')` or `logger.warn('message')`. */
export class PinoLogger implements LoggerService {
  private readonly outages = new Outages();

  constructor(private readonly log_: Logger) {}

  log(...args: unknown[]): void {
    this.write(NESTS_OWN.test(String(args.at(-1))) ? 'debug' : 'info', args);
  }

  // That of Nest's application says why it does not listen, which `listen` also throws.
  readonly error = (...args: unknown[]): void =>
    this.write(args.at(-1) === 'NestApplication' ? 'debug' : 'error', args);
  readonly warn = (...args: unknown[]): void => this.write('warn', args);
  readonly debug = (...args: unknown[]): void => this.write('debug', args);
  readonly verbose = (...args: unknown[]): void => this.write('trace', args);
  readonly fatal = (...args: unknown[]): void => this.write('fatal', args);

  /** Nest's Logger appends its context, the name of the logger, as the last argument; errors have a stack before it. */
  private write(level: Level, [first, ...rest]: unknown[]): void {
    const context = rest.at(-1);
    if (typeof first === 'object' && first !== null && !(first instanceof Error)) {
      const fields = { context: rest.length > 1 ? context : undefined, ...first };
      const message = String(rest[0] ?? '');
      const write = (line: object) => this.log_[level](line, message);
      if (!this.outages.counts(fields, message, write)) write(fields);
      return;
    }
    const stack = rest.length > 1 ? rest[0] : undefined;
    this.log_[level]({ context, stack, error: first instanceof Error ? first : undefined }, String(first));
  }
}

/** How long equal lines are counted before the log has their number. Unit: milliseconds. */
const COUNTED_MS = 60_000;

/** Maximum number of causes that are told apart; the text of a cause may come from elsewhere. */
const MAX_CAUSES = 100;

/**
 * What lines marked with `OUTAGE` are about: the first line of a cause is written at once, and then each minute one with the
 * `count` of those that followed, until there are none.
 */
class Outages {
  private readonly causes = new Map<string, { count: number; last: object }>();

  /** Whether the line is only counted. @param write writes a line with the count, in time */
  counts(fields: Record<string, unknown>, message: string, write: (fields: object) => void): boolean {
    if (!isOfOutage(fields)) return false;
    const key = this.keyOf(fields, message);
    const known = this.causes.get(key);
    if (known) {
      known.count += 1;
      known.last = fields;
      return true;
    }
    const cause = { count: 0, last: fields };
    this.causes.set(key, cause);
    const timer = setInterval(() => {
      if (cause.count > 0) write({ ...cause.last, count: cause.count });
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
