/** An error with a status that the HTTP server or one of its plugins raised, not a feature. Its text is not for clients. */
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
