import type { Type } from '@nestjs/common';

/** What a route takes or answers with, other than one object of a class. */
export class Shape<Form extends 'list' | 'page' | 'patch'> {
  constructor(
    readonly form: Form,
    readonly type: Type<object>,
  ) {}
}

/** An answer that is a list of records of the entity, or of objects of another class. */
export const listOf = (type: Type<object>) => new Shape('list', type);

/** An answer that is a page of records of the entity, as `page` of the service returns it. */
export const pageOf = (entity: Type<object>) => new Shape('page', entity);

/** A body that is a merge patch (RFC 7396) of a class: every field is optional, and null removes one. */
export const patchOf = (input: Type<object>) => new Shape('patch', input);
