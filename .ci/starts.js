import { startService, stopProcess } from '../scripts/support/processes.js';

// Starts the built service of this folder on a free port, and ends with 1 unless it becomes ready and stops in order.
process.exit(await stopProcess(await startService(process.env)));
