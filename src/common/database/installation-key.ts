import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectConnection } from '@nestjs/mongoose';
import { type Connection, type Model, Schema } from 'mongoose';
import { coalesced } from './batches.js';
import { reserveCollection } from './collections.js';
import { OPERATION_LIMITS } from './database-limits.js';
import { CRUD_CONNECTION } from './database-server.js';
import { Database } from './database.js';

/** Length of the key: that of the hash used with it (RFC 2104, section 3). Unit: bytes. */
const KEY_BYTES = 32;
const ID = 'cursors';

interface StoredKey {
  _id: string;
  value: Buffer;
}

/** A secret that all processes over one database share without configuration, made once and stored there. */
@Injectable()
export class InstallationKey {
  private readonly keys: Model<StoredKey>;
  private known?: Buffer;

  constructor(
    @InjectConnection(CRUD_CONNECTION) connection: Connection,
    private readonly database: Database,
  ) {
    const schema = new Schema<StoredKey>({ _id: String, value: Buffer }, { versionKey: false });
    // One of the connection's models, whose collections are created at the start.
    this.keys = connection.model<StoredKey>('InstallationKey', reserveCollection(schema), 'installation');
  }

  /** @throws DatabaseUnavailableError if the key is not known yet and cannot be read */
  async get(): Promise<Buffer> {
    return this.known ?? this.reload();
  }

  /** Reads the key again, since the database may have been emptied or restored. Stores the known key if there is none. */
  readonly reload = coalesced(async () => {
    const query = this.keys
      .findByIdAndUpdate(
        ID,
        { $setOnInsert: { value: this.known ?? randomBytes(KEY_BYTES) } },
        { ...OPERATION_LIMITS, promoteBuffers: true, upsert: true, returnDocument: 'after' },
      )
      .lean();
    const { value } = await this.database.call(() => query.exec());
    return (this.known = value);
  });
}
