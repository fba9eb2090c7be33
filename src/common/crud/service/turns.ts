import type { TenantScope } from '../../tenancy/index.js';

/** The turns of concurrent creates, so that their records are stored in the order of the requests. */
export class Turns {
  private last: Promise<void> = Promise.resolve();

  /** Takes the next turn: `come` resolves when all earlier ones have passed. */
  next(): Turn {
    const come = this.last;
    let pass: () => void = () => undefined;
    this.last = new Promise((resolve) => (pass = resolve));
    return { come, pass };
  }
}

/** One turn. Its holder must pass it on, however the create ends. */
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

/** Binds a place to the scope of a create, so that an override cannot lose it by leaving out an option. */
export function placeCreate(scope: TenantScope, place: CreatePlace): void {
  places.set(scope, place);
}

/** The place of a scope's create. */
export function placeOf(scope: TenantScope): CreatePlace {
  return places.get(scope) ?? {};
}
