FROM node:26-slim

ENV NODE_ENV=production
WORKDIR /app

# The image's own Node is the runtime, so the ones that npm offers as optional packages stay out.
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --omit=optional --no-audit --no-fund && npm cache clean --force

COPY bin ./bin
COPY config ./config
COPY src ./src

# A fresh named volume takes over owner and mode of the folder that it covers.
RUN mkdir -p data exports /run/rollcall \
 && chown node:node data /run/rollcall \
 && chmod 700 data /run/rollcall
USER node
VOLUME /app/data

EXPOSE 8686
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8686/healthz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]

ENTRYPOINT ["/app/bin/rollcall"]
CMD ["serve"]
