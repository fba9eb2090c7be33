const MS = 1_000;

/** Runs steps, prints a line for each with its time, and counts them. */
export class Steps {
  passed = 0;
  failed = 0;

  /**
   * Runs one step, which fails if it throws or takes longer than `limit`.
   *
   * @param limit unit: milliseconds; no limit by default
   * @returns how long it took, in milliseconds, or undefined if it failed
   */
  async run(name, action, limit = Infinity) {
    const begin = Date.now();
    let fault;
    try {
      await action();
    } catch (error) {
      fault = error.message;
    }
    return this.took(name, Date.now() - begin, limit, fault);
  }

  /**
   * Counts a step with its duration in milliseconds. It fails if there is a fault, or if it took longer than
   * `limit`.
   */
  took(name, duration, limit = Infinity, fault = undefined) {
    const seconds = `${(duration / MS).toFixed(1).padStart(6)} s`;
    const late = duration > limit ? `longer than ${limit / MS} s` : undefined;
    const stated = Number.isFinite(limit) ? `${name} (at most ${limit / MS} s)` : name;
    if (fault ?? late) {
      this.failed += 1;
      console.log(`FAILED ${seconds}  ${stated}: ${fault ?? late}`);
      return undefined;
    }
    this.passed += 1;
    console.log(`ok     ${seconds}  ${stated}`);
    return duration;
  }

  /** Prints what is skipped, and why. */
  skip(name, reason) {
    console.log(`SKIPPED          ${name}: ${reason}`);
  }

  /** Prints the summary, and sets the exit code of this process. */
  end() {
    console.log(`${this.passed} passed, ${this.failed} failed`);
    process.exitCode = this.failed === 0 ? 0 : 1;
  }
}
