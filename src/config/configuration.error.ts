/** A setting that the service cannot start with. The message is one line: the variable and what it takes. */
export class ConfigurationError extends Error {
  /**
   * @param variable name of the environment variable
   * @param detail what is wrong and what would be right, to be read after the name
   */
  constructor(
    readonly variable: string,
    detail: string,
  ) {
    super(`${variable} ${detail}.`);
    this.name = 'ConfigurationError';
  }
}
