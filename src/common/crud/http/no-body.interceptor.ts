import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { Observable } from 'rxjs';
import { errorMessages, toPointer, ValidationError } from '../../errors/index.js';
import { isPlainObject, shorten } from '../../fields/index.js';
import type { HttpRequest } from '../../platform/index.js';

/** Rejects a body sent to a route that takes none, such as a secret for a rotation. `{}` is accepted. */
@Injectable()
export class NoBodyInterceptor implements NestInterceptor {
  /** @throws ValidationError that names the first member of the body */
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { body } = context.switchToHttp().getRequest<HttpRequest>();
    if (body === undefined || body === null) return next.handle();
    if (!isPlainObject(body)) throw new ValidationError([{ pointer: '', detail: errorMessages.notAnObject }]);
    const [name] = Object.keys(body).map(shorten);
    if (name === undefined) return next.handle();
    throw new ValidationError([{ pointer: toPointer([name]), detail: errorMessages.unknownField(name, []) }]);
  }
}
