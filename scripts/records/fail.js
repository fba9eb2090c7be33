/** Ends a command with an error message. */
export function fail(sentence) {
  console.error(sentence);
  process.exit(1);
}
