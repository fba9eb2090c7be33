import { randomBytes } from 'node:crypto';

/** Length of a secret. Unit: bytes. */
const SECRET_BYTES = 32;

/** A new secret for a subscription, in the form of Standard Webhooks: `whsec_` and base64. */
export function newSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
}
