/** @mongodb */
import { Prop } from '@nestjs/mongoose';
import { useResourceApp } from '../../support/resource-app.js';
import { feature } from '../../support/resource.js';

/** How many decisions are made on the same state of the record. */
const MEETING = 3;

describe('a hook that decides on the current state of a record', () => {
  let decisions = 0;
  let meet: () => void;
  const met = new Promise<void>((resolve) => (meet = resolve));
  const app = useResourceApp(
    feature({
      name: 'tallies',
      kept: { count: Prop({ type: Number, default: 0 }) },
      hooks: {
        async beforeUpdate({ record, previous }) {
          record.count = (previous.count as number) + 1;
          if (++decisions === MEETING) meet();
          await met;
        },
      },
    }),
  );

  it('decides again if the record has changed meanwhile, so that no write is lost', async () => {
    const { _id } = (await app.post('/tallies', { text: 'A' })).body;
    const texts = Array.from({ length: MEETING }, (_, i) => `B${i}`);
    const answers = await Promise.all(texts.map((text) => app.patch(`/tallies/${_id}`, { text })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await app.get(`/tallies/${_id}`)).body.count).toBe(MEETING);
    expect(decisions).toBeGreaterThan(MEETING);
  });
});
