import { setFlagsFromString } from 'node:v8';

/**
 * Keeps V8's young generation small while the process starts. Most of what a start allocates stays in use, so
 * an idle process would only waste the memory reserved for garbage.
 */
setFlagsFromString('--semi-space-growth-factor=1');

/** Lets the young generation grow with the load again, as it does by default. */
export function letYoungGenerationGrow(): void {
  setFlagsFromString('--semi-space-growth-factor=2');
}
