import { ABORT, type RootDatabase } from 'lmdb';

/**
 * An LMDB transaction that stays open until it is told otherwise. Whatever reads or writes the environment in the meantime
 * does so in it.
 */
export class HeldTransaction {
  private finish: (result?: object) => void = () => undefined;

  constructor(root: RootDatabase<Buffer, Buffer>) {
    // LMDB keeps a transaction open until the promise of its callback is fulfilled. This one is fulfilled at once when
    // finish is called, so that nothing can happen between the wish for a commit and the commit.
    root.transactionSync(() => ({ then: (finish: (result?: object) => void) => (this.finish = finish) }));
  }

  /** @throws Error of LMDB, which has then rolled the transaction back. */
  commit(): void {
    this.finish();
  }

  abort(): void {
    this.finish(ABORT);
  }
}
