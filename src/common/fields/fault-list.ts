import { ValidationError, type Violation } from '../errors/index.js';

/** Maximum number of faults in one response. */
const MAX_FAULTS = 50;
/** Maximum length of a field name in a response. Unit: characters. */
const MAX_NAME = 100;

/** Collects the faults of a body by JSON pointer. */
export class FaultList {
  private readonly faults: Violation[] = [];
  private readonly pointers = new Set<string>();

  add(pointer: string, detail: string): void {
    if (this.faults.length >= MAX_FAULTS) return;
    this.faults.push({ pointer, detail });
    this.pointers.add(pointer);
  }

  /** Whether the list has a fault for exactly this value. */
  has(pointer: string): boolean {
    return this.pointers.has(pointer);
  }

  get isEmpty(): boolean {
    return this.faults.length === 0;
  }

  /** Whether further faults would not be listed. */
  get isFull(): boolean {
    return this.faults.length >= MAX_FAULTS;
  }

  /** @throws ValidationError that lists the faults, if there are any */
  throwIfAny(): void {
    const [first, ...others] = this.faults;
    if (first) throw new ValidationError([first, ...others]);
  }
}

/** Pointer to a member of an object or an entry of a list (RFC 6901, section 3). */
export function pointerTo(parent: string, name: string | number): string {
  return `${parent}/${shorten(String(name)).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** A field name, cut to the length that a response may repeat. */
export function shorten(name: string): string {
  return name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name;
}
