import type { Types } from 'mongoose';

/** Name of a field of a class. */
export type FieldOf<T> = Extract<keyof T, string>;

/** A record as the store holds it: the entity with its identifier, revision and timestamps. */
export type Stored<Entity> = Entity & {
  _id: Types.ObjectId;
  /** The record's revision, which increases by one with every write. */
  __v?: number;
  createdAt?: Date;
  updatedAt?: Date;
};

/** A record as clients, hooks and events see it: identifiers and decimals are strings, internal fields are left out. */
export type Presented<Entity> = {
  [Field in keyof Entity]: Entity[Field] extends Types.ObjectId | Types.Decimal128 | bigint | null | undefined
    ? string
    : Entity[Field];
} & { _id: string; createdAt: Date; updatedAt: Date };

/** The body of an update: the input's fields, all optional; `null` removes one, and objects are merged (RFC 7396). */
export type Changes<Input> = {
  readonly [Field in keyof Input]?: ChangeOf<Input[Field]> | null;
};

/** Values of a create in code: the input, and fields of the entity that clients may not send. */
export type CreateValues<Entity, Create> = Create | (Create & Partial<Omit<Entity, keyof Create>>);

/** Values of an update in code: changes of the input, and of fields of the entity that clients may not send. */
export type UpdateValues<Entity, Update> =
  Changes<Update> | (Changes<Update> & Changes<Omit<Entity, keyof Update>>);

type ChangeOf<T> = T extends Date | Uint8Array | readonly unknown[] | Types.ObjectId | Types.Decimal128
  ? T
  : T extends object
    ? Changes<T>
    : T;
