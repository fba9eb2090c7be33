import { isOfOutage, reasonOf } from '../errors/index.js';

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
export class Outages {
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
