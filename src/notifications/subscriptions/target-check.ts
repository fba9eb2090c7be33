/** Injection token of the {@link TargetCheck}. */
export const TARGET_CHECK = Symbol('TargetCheck');

/** Returns why webhooks may not be sent to a URL, as a sentence for the client; undefined if they may. */
export type TargetCheck = (url: string) => Promise<string | undefined>;
