# A tag moves. Name the image by its digest where the result has to be the same next month: --build-arg NODE_IMAGE=node:26-slim@sha256:…
ARG NODE_IMAGE=node:26-slim
FROM ${NODE_IMAGE}

ENV NODE_ENV=production
WORKDIR /app

# The image's own Node is the runtime, so the ones that npm offers as optional packages stay out.
COPY package.json package-lock.json .npmrc ./
# What npm keeps for itself, its log and its compiled code, would make each image another one.
RUN NODE_DISABLE_COMPILE_CACHE=1 npm ci --omit=dev --omit=optional --no-audit --no-fund --cache /tmp/npm && rm -rf /tmp/npm

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
