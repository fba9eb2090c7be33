/** The compared servers, and how to ask each for the same. The others are measured against the first one. */
export const LIMIT = 'handwritten';

const REST = {
  get: (id) => `/todos/${id}`,
  list: '/todos?offset=0&limit=20',
  patch: (id) => `/todos/${id}`,
  create: '/todos',
  record: (body) => body,
  page: ({ results, count }) => ({ results, count }),
};

export const PEERS = {
  [LIMIT]: {
    title: 'Hand-written: Fastify, driver',
    folder: 'handwritten',
    file: 'server.js',
    api: REST,
  },
  service: {
    title: 'This service',
    file: 'dist/bundle/main.js',
    api: REST,
  },
  'nest-mongoose': {
    title: 'NestJS, Express, Mongoose',
    folder: 'nest-mongoose',
    file: 'dist/server.js',
    api: REST,
  },
  feathers: {
    title: 'Feathers, MongoDB adapter',
    folder: 'feathers',
    file: 'server.js',
    api: {
      ...REST,
      list: '/todos?$skip=0&$limit=20&$sort[createdAt]=-1&$sort[_id]=-1',
      page: ({ data, total }) => ({ results: data, count: total }),
    },
  },
  'mongodb-dynamic-api': {
    title: 'mongodb-dynamic-api',
    folder: 'mongodb-dynamic-api',
    file: 'dist/server.js',
    api: {
      ...REST,
      list: '/todos/page?offset=0&limit=20',
      record: ({ id, ...rest }) => ({ _id: id, ...rest }),
    },
  },
};
