/** Characters that move the cursor of a terminal or control it otherwise. */
// eslint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

/** How many levels of an error's causes are logged. */
const MAX_CAUSES = 3;

/** A text in one line, with control characters escaped as in JSON. */
export function escapeControls(text: string): string {
  return text.replace(CONTROLS, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** The members of an error that are logged; others may be whole records. */
export function describeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return error;
  const { code, cause } = error as Error & { code?: unknown };
  const message = escapeControls(error.message);
  const stack = error.stack?.replace(error.message, () => message);
  return {
    type: error.constructor.name,
    message,
    stack: stack?.split('\n').map(escapeControls).join('\n'),
    ...(code !== undefined && { code }),
    ...(cause !== undefined && depth < MAX_CAUSES && { cause: describeError(cause, depth + 1) }),
  };
}
