import { setImmediate as turn } from 'node:timers/promises';
import { isWanted } from '../event-types.js';
import type { EventRecord } from '../log/event-log.js';

/**
 * An event in the format of Server-Sent Events
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html). Its body is one line: JSON escapes line
 * breaks, and the characters that it does not escape, such as U+2028, do not end a line there.
 */
export function eventFrame({ _id, type, body }: EventRecord): string {
  return `id: ${_id}\nevent: ${type}\ndata: ${body}\n\n`;
}

/** A comment, which clients ignore. */
export function commentFrame(text: string): string {
  return `: ${text}\n\n`;
}

/** Events of one tenant, in order, as bytes that all of its streams share. */
export class EventBatch {
  readonly bytes: Buffer;
  private readonly chosen = new Map<string, Buffer>();

  /** @param events at least one */
  constructor(private readonly events: readonly EventRecord[]) {
    this.bytes = Buffer.from(events.map(eventFrame).join(''));
  }

  get last(): number {
    return this.events.at(-1)?.seq ?? 0;
  }

  /** The bytes of the events of some types, for all streams that ask for the same. */
  bytesOf(types: readonly string[] | undefined): Buffer {
    if (!types) return this.bytes;
    const key = types.join();
    const wanted = this.events.filter(({ type }) => isWanted(type, types));
    const bytes = this.chosen.get(key) ?? Buffer.from(wanted.map(eventFrame).join(''));
    this.chosen.set(key, bytes);
    return bytes;
  }

  /** The events after a position in the log; undefined if there are none. */
  after(seq: number): EventBatch | undefined {
    const rest = this.events.filter((event) => event.seq > seq);
    if (rest.length === this.events.length) return this;
    return rest.length > 0 ? new EventBatch(rest) : undefined;
  }
}

/** Number of items to handle before other work gets its turn. */
const ITEMS_A_TURN = 200;

/** Does something with each item, without blocking the process if there are very many. */
export async function inTurns<T>(items: Iterable<T>, act: (item: T) => void): Promise<void> {
  let done = 0;
  for (const item of items) {
    act(item);
    done += 1;
    if (done % ITEMS_A_TURN === 0) await turn();
  }
}
