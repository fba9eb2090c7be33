import { unsupported } from './errors.js';

/**
 * The operators of one kind. Each is a file of its own, which registers itself when `operators/index.ts` loads it; see
 * docs/add-an-operator.md.
 */
export class Registry<Definition> {
  private readonly definitions = new Map<string, Definition>();

  /** @param kind The subject of a refusal: `The stage`. */
  constructor(private readonly kind: string) {}

  /** Adds an operator. */
  define(name: string, definition: Definition): void {
    if (this.definitions.has(name)) throw new Error(`${this.kind} ${name} is registered twice.`);
    this.definitions.set(name, definition);
  }

  /**
   * An operator by its name.
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
