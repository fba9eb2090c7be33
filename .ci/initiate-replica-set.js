import { setTimeout as pause } from 'node:timers/promises';
import mongoose from 'mongoose';

/** Makes the server at MONGODB_URI a replica set of one member, and returns when it takes writes. */
const WAIT_MS = 120_000;
const ALREADY_INITIALIZED = 23;

const { MongoClient, MongoServerError } = mongoose.mongo;
const { host } = new URL(process.env.MONGODB_URI);
const client = new MongoClient(process.env.MONGODB_URI, { serverSelectionTimeoutMS: WAIT_MS });
try {
  const admin = client.db('admin');
  await admin.command({ replSetInitiate: { _id: 'ci', members: [{ _id: 0, host }] } }).catch((error) => {
    if (!(error instanceof MongoServerError && error.code === ALREADY_INITIALIZED)) throw error;
  });
  const deadline = Date.now() + WAIT_MS;
  while (!(await admin.command({ hello: 1 })).isWritablePrimary) {
    if (Date.now() > deadline) throw new Error('The replica set has no primary.');
    await pause(100);
  }
} finally {
  await client.close();
}
