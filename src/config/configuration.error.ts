/**
 * A setting that the service cannot start with. The message is one line: the variable and its valid values.
 */
export class ConfigurationError extends Error {
  /**
   * @param variable name of the environment variable
   * @param detail what is wrong and what would be right, written to follow the name
   */
  constructor(
    readonly variable: string,
    detail: string,
  ) {
    super(`${variable} ${detail}.`);
    this.name = 'ConfigurationError';
  }
}
