import type { EventRecord } from '../log/event-record.schema.js';

/**
 * An event in the format of Server-Sent Events (https://html.spec.whatwg.org/multipage/server-sent-events.html). Its body
 * is one line: JSON escapes line breaks, and of the characters that it leaves as they are (U+2028 is one) none ends a line there.
 */
export function eventFrame({ _id, type, body }: EventRecord): string {
  return `id: ${_id}\nevent: ${type}\ndata: ${body}\n\n`;
}

/** A comment, which clients ignore. */
export function commentFrame(text: string): string {
  return `: ${text}\n\n`;
}

/**
 * The beginning of a stream. Its identifier becomes the client's last one without an event, so that a client which is cut
 * off before its first event resumes from here.
 */
export function openingFrame(id: string): string {
  return `: connected\nid: ${id}\n\n`;
}
