import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { Receiver } from './receiver.js';
import { goodClaims } from './tenants.js';

/** A key pair of an issuer, and its public half as a key set shows it. */
export type IssuerKey = Awaited<ReturnType<typeof issuerKey>>;

export async function issuerKey(alg: string, kid = alg) {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { alg, kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}

/** A token of an issuer; `header` and `claims` add to or replace what it says. */
export function issuerToken(
  { alg, kid, privateKey }: IssuerKey,
  claims: Record<string, unknown> = {},
  header: Record<string, unknown> = {},
): Promise<string> {
  return new SignJWT({ ...goodClaims(), ...claims })
    .setProtectedHeader({ alg, kid, ...header })
    .sign(privateKey, { crit: { acme: true } });
}

/** An issuer's key set behind HTTP on loopback, whose answers a test can change. */
export type KeyServer = Awaited<ReturnType<typeof startKeyServer>>;

export async function startKeyServer(keys: Pick<IssuerKey, 'jwk'>[]) {
  const receiver = await Receiver.start();
  const answer = (status: number, body: string) => {
    receiver.answer = (_request, response) =>
      void response.writeHead(status, { 'Content-Type': 'application/json' }).end(body);
  };
  const serve = (some: typeof keys) => answer(200, JSON.stringify({ keys: some.map(({ jwk }) => jwk) }));
  serve(keys);
  return {
    ...{ url: receiver.url, asked: receiver.received, answer, serve },
    /** Takes requests and never answers them. */
    hang: () => void (receiver.answer = () => undefined),
    stop: () => receiver.close(),
  };
}
