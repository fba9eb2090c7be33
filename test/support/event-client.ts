import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';

/** An event as a client of Server-Sent Events sees it. */
export interface ReceivedEvent {
  id: string;
  type: string;
  data: string;
}

export interface StreamAsked {
  token?: string;
  lastEventId?: string;
  /** From the question mark on. */
  query?: string;
  headers?: Record<string, string>;
}

/** One connection to `GET /events`, read by the rules of https://html.spec.whatwg.org/multipage/server-sent-events.html. */
export class EventClient {
  readonly events: ReceivedEvent[] = [];
  readonly comments: string[] = [];
  /** Everything that came, as it came. */
  text = '';
  /** What the client would send as `Last-Event-ID` now. */
  lastEventId = '';
  /** Whether the stream came to its end, or broke off; undefined while it is open. */
  end?: 'ended' | 'broken';
  readonly status?: number;
  readonly headers: IncomingHttpHeaders;
  private rest = '';
  private id = '';
  private type = '';
  private data: string[] = [];

  private constructor(
    readonly response: IncomingMessage,
    onEvent: (client: EventClient) => void,
  ) {
    this.status = response.statusCode;
    this.headers = response.headers;
    response.setEncoding('utf8').on('data', (text: string) => {
      this.text += text;
      const lines = (this.rest + text).split(/\r\n|\r|\n/);
      this.rest = lines.pop() ?? '';
      for (const line of lines) if (this.readLine(line)) onEvent(this);
    });
    response.on('end', () => (this.end ??= response.complete ? 'ended' : 'broken'));
    response.on('error', () => (this.end ??= 'broken'));
  }

  /** Connects, and resolves when the answer has begun; from then on calls `onEvent` after each event. */
  static async open(
    url: string,
    { token, lastEventId, query = '', headers: others }: StreamAsked,
    onEvent: (client: EventClient) => void = () => undefined,
  ): Promise<EventClient> {
    const headers = {
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      ...(lastEventId !== undefined && { 'Last-Event-ID': lastEventId }),
      ...others,
    };
    const sent = request(`${url}/events${query}`, { agent: false, headers }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return new EventClient(response, onEvent);
  }

  get ids(): string[] {
    return this.events.map(({ id }) => id);
  }

  /** Goes away without a word. */
  close(): void {
    this.end ??= 'broken';
    this.response.destroy();
  }

  /** Whether the line completed an event. */
  private readLine(line: string): boolean {
    if (this.end) return false;
    if (line === '') return this.dispatch();
    const [name = '', value = ''] = line.split(/: ?([\s\S]*)/, 2);
    if (line.startsWith(':')) this.comments.push(value);
    else if (name === 'id') this.id = value;
    else if (name === 'event') this.type = value;
    else if (name === 'data') this.data.push(value);
    else throw new Error(`Not a line of an event stream: ${line}`);
    return false;
  }

  private dispatch(): boolean {
    this.lastEventId = this.id;
    const { type, data } = this;
    this.type = '';
    this.data = [];
    if (data.length === 0) return false;
    this.events.push({ id: this.id, type: type || 'message', data: data.join('\n') });
    return true;
  }
}
