import { setFlagsFromString } from 'node:v8';

/**
 * Keeps V8's young generation small while the process starts. What a start allocates mostly stays, so that room for garbage
 * would only be held by a process that is idle then.
 */
setFlagsFromString('--semi-space-growth-factor=1');

/** Lets the young generation grow with the load again, as it does by default. */
export function letYoungGenerationGrow(): void {
  setFlagsFromString('--semi-space-growth-factor=2');
}
