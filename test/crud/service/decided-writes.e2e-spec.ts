/** @mongodb */
import { Prop, Schema } from '@nestjs/mongoose';
import { CrudModule } from '../../../src/common/crud/index.js';
import { NoteInput } from '../../support/bulk.js';
import { createResourceApp } from '../../support/resource-app.js';
import type { TestApp } from '../../support/test-app.js';

@Schema({ timestamps: true })
class Tally extends NoteInput {
  @Prop({ type: Number, default: 0 }) count?: number;
}

/** How many decisions are made on the same state of the record. */
const MEETING = 3;

describe('a hook that decides on the current state of a record', () => {
  let app: TestApp;
  let decisions = 0;
  beforeAll(async () => {
    let meet: () => void;
    const met = new Promise<void>((resolve) => (meet = resolve));
    app = await createResourceApp(
      CrudModule.forFeature({
        entity: Tally,
        input: NoteInput,
        name: 'tallies',
        hooks: {
          async beforeUpdate({ record, previous }) {
            record.count = (previous.count ?? 0) + 1;
            if (++decisions === MEETING) meet();
            await met;
          },
        },
      }),
    );
  });
  afterAll(() => app.close());

  it('decides again if the record has changed meanwhile, so that no write is lost', async () => {
    const { _id } = (await app.post('/tallies', { text: 'A' })).body;
    const texts = Array.from({ length: MEETING }, (_, i) => `B${i}`);
    const answers = await Promise.all(texts.map((text) => app.patch(`/tallies/${_id}`, { text })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await app.get(`/tallies/${_id}`)).body.count).toBe(MEETING);
    expect(decisions).toBeGreaterThan(MEETING);
  });
});
