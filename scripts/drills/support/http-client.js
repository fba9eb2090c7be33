import { Agent, request } from 'node:http';
import { performance } from 'node:perf_hooks';

/** A client with its own connection, which it keeps as long as the server does. */
export class HttpClient {
  agent = new Agent({ keepAlive: true, maxSockets: 1 });

  /** @param headers that every request has */
  constructor(url, headers = {}) {
    this.url = url;
    this.headers = headers;
  }

  /**
   * Sends one request.
   *
   * @param headers besides those of every request
   * @returns status, headers and text of the answer, and how long it took (unit: milliseconds); rejects without an answer
   */
  send(method, path, body, headers = {}) {
    const begun = performance.now();
    const type = body === undefined ? {} : { 'Content-Type': 'application/json' };
    return new Promise((resolve, reject) => {
      const sent = request(this.url + path, {
        method,
        agent: this.agent,
        headers: { ...type, ...this.headers, ...headers },
      });
      sent.on('error', reject).on('response', (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (part) => (text += part));
        answer.on('error', reject).on('end', () => {
          resolve({
            status: answer.statusCode,
            headers: answer.headers,
            text,
            ms: performance.now() - begun,
          });
        });
      });
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  close() {
    this.agent.destroy();
  }
}
