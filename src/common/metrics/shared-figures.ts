import cluster, { type Worker } from 'node:cluster';
import { randomUUID } from 'node:crypto';
import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue } from 'prom-client';

/** How long the figures of one process are waited for; then they are left out. Unit: milliseconds. */
const PATIENCE_MS = 3_500;

/** The figures of one process, as data. */
export type Figures = MetricObjectWithValues<MetricValue<string>>[];

/** What the processes of a cluster say to each other; each answer has the id of what it answers. */
type Message = { readonly id: string } & (
  | { readonly figures: 'wantedOfAll' | 'wanted' }
  | { readonly figures: 'ofAll'; readonly text: string }
  | { readonly figures: 'ofOne'; readonly values: Figures }
);

/** Where messages come from: a process of the cluster, or the primary. */
interface Peer {
  on(event: 'message', listener: (message: Message) => void): unknown;
  off(event: 'message', listener: (message: Message) => void): unknown;
  send?(message: Message): unknown;
}

/** In the primary: answers a process that asks for the figures of all. */
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
  const answers = await Promise.all(processes.map((one) => ask(one as Worker, 'wanted')));
  const told = answers.flatMap((answer) => (answer?.figures === 'ofOne' ? [answer.values] : []));
  return AggregatorRegistry.aggregate(told).metrics();
}

/** In a process of the cluster: answers the primary that asks for its figures. */
export function tellFigures(read: () => Promise<Figures>): void {
  process.on('message', ({ figures, id }: Message) => {
    if (figures !== 'wanted') return;
    void read().then((values) => process.send?.({ figures: 'ofOne', id, values } satisfies Message));
  });
}

/** In a process of the cluster: the figures of all, in the text format; undefined if the primary does not answer. */
export async function askForFigures(): Promise<string | undefined> {
  const answer = await ask(process as Peer, 'wantedOfAll');
  return answer?.figures === 'ofAll' ? answer.text : undefined;
}

/** Sends a question, and resolves with its answer; with nothing if there is none in time. */
function ask(peer: Peer, figures: 'wantedOfAll' | 'wanted'): Promise<Message | undefined> {
  const id = randomUUID();
  return new Promise((resolve) => {
    const timer = setTimeout(done, PATIENCE_MS);
    const listen = (message: Message) => {
      if (message.id === id) done(message);
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
