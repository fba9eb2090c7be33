import { unsupported } from './errors.js';

/**
 * The operators of one kind. Each is a file of its own, which registers itself when `operators/index.ts` loads it; see
 * docs/add-an-operator.md.
 */
export class Registry<Definition> {
  private readonly definitions = new Map<string, Definition>();
  private readonly refused = new Set<string>();

  /** @param kind The subject of a refusal: `The stage`. */
  constructor(private readonly kind: string) {}

  /** Adds an operator. */
  define(name: string, definition: Definition): void {
    if (this.knows(name)) throw new Error(`${this.kind} ${name} is registered twice.`);
    this.definitions.set(name, definition);
  }

  /** Names operators of MongoDB that this server lacks. */
  refuse(...names: string[]): void {
    for (const name of names) {
      if (this.knows(name)) throw new Error(`${this.kind} ${name} is registered twice.`);
      this.refused.add(name);
    }
  }

  /**
   * An operator by its name.
   *
   * @returns `undefined` for a name that MongoDB does not know either
   * @throws CommandError CommandNotSupported (115) for an operator that this server lacks
   */
  find(name: string): Definition | undefined {
    if (this.refused.has(name)) throw unsupported(`${this.kind} ${name}`);
    return this.definitions.get(name);
  }

  /** Whether MongoDB has an operator of this name, which may be one that this server lacks. */
  knows(name: string): boolean {
    return this.definitions.has(name) || this.refused.has(name);
  }

  /** The names of all operators, and of those that are refused. */
  get names(): { supported: string[]; refused: string[] } {
    return { supported: [...this.definitions.keys()], refused: [...this.refused] };
  }
}
