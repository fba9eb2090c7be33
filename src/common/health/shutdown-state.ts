import { Injectable } from '@nestjs/common';

/** Whether this process has been told to stop. */
@Injectable()
export class ShutdownState {
  begun = false;
}
