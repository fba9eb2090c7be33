import { EventEmitter, once } from 'node:events';
import { EventLog } from '../../../src/common/notifications/log/event-log.js';
import { EventClient } from '../../support/event-client.js';
import { eventually } from '../../support/eventually.js';
import { LoggedEvents } from '../../support/logged-events.js';
import { createStreamApp } from '../../support/stream-app.js';
import { ACME, acme, GLOBEX, globex } from '../../support/tenants.js';
import { useApp } from '../../support/test-app.js';

/** Has the next read of a tenant's events reach the database late; tells when a read of another tenant's is over. */
function delayNextRead(log: EventLog, tenant: string): EventEmitter {
  const read = log.read.bind(log);
  const steps = new EventEmitter();
  let isDelayed = false;
  log.read = async (after, options) => {
    if (!isDelayed && options.tenants?.join() === tenant) {
      isDelayed = true;
      steps.emit('begun');
      await once(steps, 'release');
    }
    const events = await read(after, options);
    steps.emit(`read of ${options.tenants?.join()}`);
    return events;
  };
  return steps;
}

describe('A tenant that begins to follow while the log is read for another one', () => {
  const app = useApp(() => createStreamApp());

  it('misses no event that precedes one of the other tenant', async () => {
    const log = new LoggedEvents(app.database);
    const first = await EventClient.open(app.url, { token: acme });
    await log.append(ACME);
    await eventually(() => expect(first.ids).toEqual(log.idsOf(ACME)));

    const steps = delayNextRead(app.app.get(EventLog, { strict: false }), ACME);
    const begun = once(steps, 'begun');
    await log.append(ACME);
    await begun;
    const caughtUp = once(steps, `read of ${GLOBEX}`);
    const second = await EventClient.open(app.url, { token: globex });
    await caughtUp;
    await log.append(GLOBEX, ACME);
    steps.emit('release');
    await eventually(() => expect(first.ids).toEqual(log.idsOf(ACME)));
    await log.append(GLOBEX);

    await eventually(() => expect(second.ids.at(-1)).toBe(log.idsOf(GLOBEX).at(-1)));
    expect(second.ids).toEqual(log.idsOf(GLOBEX));
    expect(first.ids).toEqual(log.idsOf(ACME));
    for (const client of [first, second]) client.close();
  });
});
