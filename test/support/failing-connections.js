// Loaded before the service (`node --import`): connections to the ports in FAILING_PORTS fail.
import { Socket } from 'node:net';
import process from 'node:process';
import { setImmediate } from 'node:timers';
import { getSystemErrorName } from 'node:util';

/** By port: the number of the system's error, and when the connection fails. */
const failures = JSON.parse(process.env.FAILING_PORTS);
const { connect } = Socket.prototype;

Socket.prototype.connect = function (...args) {
  const [{ port }] = [args[0]].flat();
  const failure = failures[port];
  if (!failure) return connect.apply(this, args);
  const code = getSystemErrorName(failure.errno);
  const error = Object.assign(new Error(`connect ${code}`), {
    errno: failure.errno,
    code,
    syscall: 'connect',
  });
  if (failure.when === 'thrown') throw error;
  if (failure.when === 'at once') this.destroy(error);
  else setImmediate(() => this.destroy(error));
  return this;
};
