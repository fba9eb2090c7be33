import { ABORT, type RootDatabase } from 'lmdb';

/**
 * An LMDB transaction that stays open until it is ended explicitly. All reads and writes of the environment
 * in the meantime happen in it.
 */
export class HeldTransaction {
  private finish: (result?: object) => void = () => undefined;

  constructor(root: RootDatabase<Buffer, Buffer>) {
    // LMDB keeps a transaction open until the promise of its callback is fulfilled. Calling finish fulfils
    // this one at once, so that nothing can happen between the request for a commit and the commit.
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
