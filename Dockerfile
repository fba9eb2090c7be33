# The service and its worker in one image: CMD starts the API; `node dist/bundle/worker.js` starts a worker.
FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY libs/create-nestjs-mongo-crud/package.json libs/create-nestjs-mongo-crud/
COPY libs/embedded-mongodb/package.json libs/embedded-mongodb/
COPY libs/schematics/package.json libs/schematics/
RUN npm ci
COPY . .
RUN npm run build && npm prune --omit=dev

FROM node:24-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 WORKER_PORT=3000
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/libs libs
COPY --from=build /app/dist dist
COPY --from=build /app/public public
# The files belong to root: the process can read them and change none.
USER node
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:3000/health/live').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# No npm in between, which would not hand signals on.
CMD ["node", "dist/bundle/main.js"]
