import type { TenantScope } from '../../tenancy/index.js';

/** The turns of creates that run at a time, so that their records are stored in the order of their requests. */
export class Turns {
  private last: Promise<void> = Promise.resolve();

  /** The next turn: `come` resolves when all before it have passed. */
  next(): Turn {
    const come = this.last;
    let pass: () => void = () => undefined;
    this.last = new Promise((resolve) => (pass = resolve));
    return { come, pass };
  }
}

/** One turn. Whoever has it passes it on, however the create ends. */
export interface Turn {
  readonly come: Promise<void>;
  readonly pass: () => void;
}

/** Additional input of one create. */
export interface CreatePlace {
  /** When the record may be stored. @default at once */
  readonly turn?: Turn;
}

const places = new WeakMap<TenantScope, CreatePlace>();

/** Binds a place to the scope of a create. So an override cannot lose it by leaving out an option. */
export function placeCreate(scope: TenantScope, place: CreatePlace): void {
  places.set(scope, place);
}

/** The place of the create of a scope. */
export function placeOf(scope: TenantScope): CreatePlace {
  return places.get(scope) ?? {};
}
