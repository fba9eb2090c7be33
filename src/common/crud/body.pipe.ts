import { Injectable, type PipeTransform, type Type } from '@nestjs/common';
import { InputReader } from '../fields/index.js';

/** Reads the body of a create: the input class as it is, without null. */
export function createBodyPipe(input: Type<object>): BodyPipe {
  const reader = new InputReader(input);
  return new BodyPipe((body) => reader.read(body));
}

/** Reads the body of an update: the fields of the input class, all optional; null removes one that the input may lack. */
export function updateBodyPipe(input: Type<object>): BodyPipe {
  const reader = new InputReader(input);
  return new BodyPipe((body) => reader.readPatch(body));
}

/** Validates a body strictly: an object of input fields alone, nothing coerced, nothing dropped. */
@Injectable()
export class BodyPipe implements PipeTransform<unknown, Promise<object>> {
  constructor(private readonly readBody: (body: unknown) => Promise<object>) {}

  transform(body: unknown): Promise<object> {
    return this.readBody(body);
  }
}
