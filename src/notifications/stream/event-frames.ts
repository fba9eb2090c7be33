import type { EventRecord } from '../log/event-record.schema.js';

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

/**
 * The beginning of a stream. It sets the client's last event identifier without an event, so that a client
 * that is disconnected before its first event resumes from here.
 */
export function openingFrame(id: string): string {
  return `: connected\nid: ${id}\n\n`;
}
