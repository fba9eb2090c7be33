/**
 * Watches over the steps of a drill, so that it ends even if one of them does not.
 *
 * @param tell is called with the name of each step that begins
 * @param giveUp is called with a sentence if a step takes longer than the limit
 * @returns a function that begins a step and ends the previous one, and one that ends the last step
 */
export function watchSteps({ limitMs, tell, giveUp }) {
  let timer;
  const end = () => clearTimeout(timer);
  const begin = (step) => {
    end();
    tell(step);
    timer = setTimeout(giveUp, limitMs, `the step "${step}" has not ended within ${limitMs / 1_000} s`);
  };
  return { begin, end };
}
