/**
 * An error with a status, raised by the HTTP server or one of its plugins. Its text is not meant for clients.
 */
export class ServerRefusalError extends Error {
  /** @param statusCode status that the server meant to answer with */
  constructor(
    readonly statusCode: number,
    cause: unknown,
  ) {
    super(`The server refused with ${statusCode}.`, { cause });
    this.name = 'ServerRefusalError';
  }
}
