import { DomainError, type Violation } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** Maximum number of faults in one response. */
const MAX_ERRORS = 50;
/** Maximum length of a fault's name, and of its sentence, whatever the client has sent. Unit: characters. */
const MAX_NAME = 1_000;
const MAX_DETAIL = 2_000;

/** A body, query or path that does not have the declared shape. */
export class ValidationError extends DomainError {
  readonly code = 'VALIDATION_FAILED';
  override readonly errors: readonly Violation[];

  /** @param errors each fault; at least one */
  constructor(errors: readonly [Violation, ...Violation[]], options?: ErrorOptions) {
    const [first, ...others] = errors.slice(0, MAX_ERRORS).map(shortened) as [Violation, ...Violation[]];
    super(errorMessages.validationFailed(errors.length, first.detail), options);
    this.errors = [first, ...others];
  }
}

function shortened({ detail, ...where }: Violation): Violation {
  const [[kind, name]] = Object.entries(where) as [['pointer' | 'parameter', string]];
  return { [kind]: cut(name, MAX_NAME), detail: cut(detail, MAX_DETAIL) } as Violation;
}

/** The beginning and the end of a text, which says what is allowed. */
function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max / 2)}…${text.slice(-max / 2)}`;
}
