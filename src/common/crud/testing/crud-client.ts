import type { INestApplication } from '@nestjs/common';

/** A JSON object. */
export type Json = Record<string, unknown>;

/** The parts of a response that the contract checks. */
export interface CrudResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Json;
}

/** Sends requests to one resource of a running application. */
export class CrudClient {
  constructor(
    private readonly app: INestApplication,
    private readonly path: string,
    private readonly token?: string,
  ) {}

  async send(
    method: string,
    below: string,
    body?: Json,
    headers: Record<string, string> = {},
  ): Promise<CrudResponse> {
    const response = await fetch((await this.url()) + below, {
      method,
      headers: {
        ...(body && { 'Content-Type': 'application/json' }),
        ...(this.token !== undefined && { Authorization: `Bearer ${this.token}` }),
        ...headers,
      },
      body: body && JSON.stringify(body),
    });
    return { status: response.status, headers: response.headers, body: (await response.json()) as Json };
  }

  /** Creates a record and returns its identifier. @throws Error if the create is rejected */
  async create(body: Json): Promise<string> {
    const response = await this.send('POST', '', body);
    if (response.status !== 201)
      throw new Error(`The valid body is refused: ${JSON.stringify(response.body)}`);
    return String(response.body._id);
  }

  async count(): Promise<number> {
    return Number((await this.send('GET', '/count')).body.count);
  }

  private async url(): Promise<string> {
    return (await this.app.getUrl()) + this.path;
  }
}
