/** Refuses or allows a webhook's URL. */
export interface TargetPolicy {
  /** Whether private and loopback addresses may be dialled. */
  readonly allowPrivate: boolean;
  /** Whether only https is allowed. */
  readonly httpsOnly: boolean;
}

/** Reason why a URL cannot be a target, as a sentence for the client; undefined if it can. Resolves names. */
export function targetFault(_url: string, _policy: TargetPolicy): Promise<string | undefined> {
  throw new Error('Not built yet');
}
