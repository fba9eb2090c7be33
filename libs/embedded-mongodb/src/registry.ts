import { unsupported } from './errors.js';

/**
 * The operators of one kind. Each has its own file, which registers it when `operators/index.ts` loads the
 * file; see docs/add-an-operator.md.
 */
export class Registry<Definition> {
  private readonly definitions = new Map<string, Definition>();

  /** @param kind The subject of an error message: `The stage`. */
  constructor(private readonly kind: string) {}

  /** Adds an operator. */
  define(name: string, definition: Definition): void {
    if (this.definitions.has(name)) throw new Error(`${this.kind} ${name} is registered twice.`);
    this.definitions.set(name, definition);
  }

  /**
   * Finds an operator by name.
   *
   * @throws CommandError CommandNotSupported (115) for an operator that this server lacks, whether or not MongoDB has it
   */
  find(name: string): Definition {
    const definition = this.definitions.get(name);
    if (definition === undefined) throw unsupported(`${this.kind} ${name}`);
    return definition;
  }

  /** The names of all operators. */
  get names(): string[] {
    return [...this.definitions.keys()];
  }
}
