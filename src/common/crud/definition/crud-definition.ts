import type { Type } from '@nestjs/common';
import type { Schema } from 'mongoose';
import type { InputReader } from '../../fields/index.js';
import type { IsolationFields, TenantContext } from '../../tenancy/index.js';
import type {
  AnyCrudOptions,
  CrudAction,
  CrudAudit,
  CrudBatchHandler,
  CrudHandler,
  CrudParent,
  CrudReference,
  CrudRouteOptions,
} from '../options/crud-options.js';
import type { CrudHooks } from '../options/crud-hooks.js';
import type { Presented } from '../options/records.js';
import type { ArchiveDefinition } from './archive.js';
import type { EventsDefinition } from './events.js';
import type { FieldRules } from './field-rules.js';
import type { Kinds } from './kinds.js';
import type { Presenter } from './output.js';
import type { QueryDefinition } from './query-definition.js';

/** A reference with its defaults filled in. */
export interface ReferenceDefinition extends Required<CrudReference> {
  /** Path of the field that holds the identifier, such as `category` or `lines.product`. */
  readonly path: string;
}

/** A resource as the generator works with it: checked options with every default filled in. */
export interface CrudDefinition {
  /** The options that the definition was made from. */
  readonly options: AnyCrudOptions;
  readonly entity: Type<object>;
  readonly name: string;
  /** Name of one record for clients, such as "Post". */
  readonly label: string;
  readonly path: string;
  readonly tag: string;
  readonly security: string | undefined;
  /** The resource's own copy of the schema, with its indexes. */
  readonly schema: Schema;
  readonly disabled: ReadonlySet<CrudAction>;
  readonly isolation: Readonly<Record<CrudAction, IsolationFields>>;
  readonly visible: Readonly<Record<string, unknown>>;
  readonly archive?: ArchiveDefinition;
  readonly list: { readonly unpaged: boolean; readonly maxLimit: number };
  readonly query: QueryDefinition;
  /** The routes for many writes that the resource has. */
  readonly batches: readonly CrudBatchHandler[];
  /** The events of its writes; absent if subscribers are not told of them. */
  readonly events?: EventsDefinition;
  /** How long audit records of the writes are kept; absent if writes are not audited. */
  readonly audit?: Required<CrudAudit>;
  readonly parent?: CrudParent<Record<string, unknown>>;
  readonly references: readonly ReferenceDefinition[];
  /** The references that clients can see, and therefore expand, by path. */
  readonly expandable: ReadonlyMap<string, ReferenceDefinition>;
  /** Hooks given as functions, or the provider class that has them. */
  readonly hooks: CrudHooks<object, object> | Type<CrudHooks<object, object>>;
  readonly routes: Partial<Record<CrudHandler | CrudBatchHandler, CrudRouteOptions>>;
  readonly writeOnly: ReadonlySet<string>;
  readonly inputs: { readonly create: Type<object>; readonly update: Type<object> };
  /** The input classes of its kinds, if its records are of several. */
  readonly kinds?: Kinds;
  readonly createReader: InputReader<object>;
  readonly updateReader: InputReader<object>;
  /** Names of every field that a client may send. */
  readonly inputFields: readonly string[];
  /** The fields that only some callers read or write. */
  readonly fieldRules: FieldRules;
  /**
   * The definition as a caller knows it, whose queries name only fields that the caller may read; undefined if that are
   * all.
   */
  readonly viewOf?: (caller: TenantContext) => CrudDefinition;
  /** Names of the fields that clients see, including `_id`. */
  readonly shownFields: readonly string[];
  /** Shows a record to a caller. */
  readonly present: (record: object, caller: TenantContext) => Presented<object>;
  /** Shows the entity's visible fields; `present` then applies the option `output`. */
  readonly presenter: Presenter;
}
