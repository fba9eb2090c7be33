import './build-if-missing.js';

// In the same process, since another one would delay the start.
await import('../dist/bundle/main.js');
