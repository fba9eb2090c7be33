import cluster, { type Worker } from 'node:cluster';
import { randomUUID } from 'node:crypto';
import { AggregatorRegistry, type Registry } from 'prom-client';

/** How long the primary waits for the figures of one process before leaving them out. Unit: milliseconds. */
const ONE_MS = 3_000;
/** How long a process waits for the figures of all before showing only its own. Unit: milliseconds. */
const ALL_MS = 4_000;

/** The figures of one process, as data. */
export type Figures = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/** Messages between the processes of a cluster. An answer has the id of its request. */
type Message = { readonly id: string } & (
  | { readonly figures: 'wantedOfAll' | 'wanted' }
  | { readonly figures: 'ofAll'; readonly text: string }
  | { readonly figures: 'ofOne'; readonly values: Figures }
);

/** The other end of the messages: a process of the cluster, or the primary. */
interface Peer {
  on(event: 'message', listener: (message: unknown) => void): unknown;
  off(event: 'message', listener: (message: unknown) => void): unknown;
  send?(message: Message): unknown;
}

/** In the primary: answers a process that asks for the figures of all processes. */
export function gatherFigures(): void {
  cluster.on('message', (asker: Worker, { figures, id }: Message) => {
    if (figures !== 'wantedOfAll') return;
    void figuresOfAll().then((text) => {
      if (asker.isConnected()) asker.send({ figures: 'ofAll', id, text } satisfies Message);
    });
  });
}

async function figuresOfAll(): Promise<string> {
  const processes = Object.values(cluster.workers ?? {}).filter((one) => one?.isConnected() === true);
  const answers = await Promise.all(processes.map((one) => ask(one as Worker, 'wanted', ONE_MS)));
  const told = answers.flatMap((answer) => (answer?.figures === 'ofOne' ? [answer.values] : []));
  return AggregatorRegistry.aggregate(told).metrics();
}

/** In a process of the cluster: answers the primary when it asks for figures. */
export function tellFigures(read: () => Promise<Figures>): void {
  process.on('message', (message) => {
    const { figures, id } = message as Message;
    if (figures !== 'wanted') return;
    void read().then((values) => process.send?.({ figures: 'ofOne', id, values } satisfies Message));
  });
}

/**
 * In a process of the cluster: the figures of all in the text format; undefined if the primary does not
 * answer.
 */
export async function askForFigures(): Promise<string | undefined> {
  const answer = await ask(process, 'wantedOfAll', ALL_MS);
  return answer?.figures === 'ofAll' ? answer.text : undefined;
}

/** Sends a question and resolves with its answer, or with nothing if there is none in time. */
function ask(
  peer: Peer,
  figures: 'wantedOfAll' | 'wanted',
  patienceMs: number,
): Promise<Message | undefined> {
  const id = randomUUID();
  return new Promise((resolve) => {
    const timer = setTimeout(done, patienceMs);
    const listen = (message: unknown) => {
      const answer = message as Message;
      if (answer.id === id) done(answer);
    };
    function done(message?: Message) {
      clearTimeout(timer);
      peer.off('message', listen);
      resolve(message);
    }
    peer.on('message', listen);
    peer.send?.({ figures, id });
  });
}
