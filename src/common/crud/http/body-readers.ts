import type { Type } from '@nestjs/common';
import { InputReader } from '../../fields/index.js';
import { markChecked } from '../definition/checked-bodies.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import { readOperations } from '../batch/operation.js';
import type { BodyKind } from '../routes/routes.js';

/** Reads the bodies of routes, strictly; see {@link InputReader}. */
export class BodyReaders {
  private readonly own = new Map<Type<object>, InputReader<object>>();

  /** @throws ValidationError that names every fault */
  async read(body: unknown, { createReader, updateReader }: CrudDefinition, kind: BodyKind): Promise<object> {
    if (kind === 'create') return markChecked(await createReader.read(body), createReader);
    if (kind === 'update') return markChecked(await updateReader.readPatch(body), updateReader);
    if (kind === 'operations') return readOperations(body);
    if (kind === 'lines') return body as object;
    const reader = this.own.get(kind) ?? new InputReader(kind);
    this.own.set(kind, reader);
    return reader.read(body);
  }
}
