// Loaded before the service (`node --import`): the connection by which the driver looks for its server never says that it
// has closed, so that the driver writes to it, as it does in the moment before.
import { Socket } from 'node:net';
import process from 'node:process';

const { write } = Socket.prototype;

Socket.prototype.write = function (...args) {
  const { emit } = this;
  // A field of the command { hello: 1 }; the first command of each connection has another one.
  if (Buffer.from(args[0]).includes('\u0010hello\0') && emit === Socket.prototype.emit) {
    this.emit = (name, ...rest) => !['close', 'error'].includes(name) && emit.call(this, name, ...rest);
    this.once('data', () => process.stdout.write('The monitor is watched\n'));
  }
  return write.apply(this, args);
};
