# A tag moves. Name the image by its digest where the result has to be the same next month: --build-arg NODE_IMAGE=node:26-slim@sha256:…
ARG NODE_IMAGE=node:26-slim
FROM ${NODE_IMAGE} AS package

# The package that `npm pack` makes, as it is, and the versions that it runs with.
WORKDIR /source
COPY . .
RUN npm pack --silent \
 && mkdir /package \
 && tar -xzf rollcall-*.tgz -C /package --strip-components=1 \
 && cp package-lock.json /package

FROM ${NODE_IMAGE}

ENV NODE_ENV=production
WORKDIR /app

# The image's own Node is the runtime, so the ones that npm offers as optional packages are taken out again, and what only compilers
# and debuggers read.
COPY --from=package /package/package.json /package/package-lock.json ./
# What npm keeps for itself, its log and its compiled code, would make each image another one.
RUN NODE_DISABLE_COMPILE_CACHE=1 npm ci --omit=dev --ignore-scripts --no-audit --no-fund --cache /tmp/npm \
 && rm -rf /tmp/npm node_modules/node-*-x64 node_modules/node-*-arm64 \
 && find node_modules -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' \) -delete

COPY --from=package /package ./
# The export of the trial that docker-compose.yml starts. It lies apart from the folder of real ones.
COPY --from=package /package/config/samples/generic.csv ./trial/

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

# What an image says of itself where it is listed. The commit is known to whoever builds: --build-arg REVISION="$(git rev-parse HEAD)"
ARG REVISION=
LABEL org.opencontainers.image.title="Rollcall" \
      org.opencontainers.image.description="Keeps the people of a compliance platform in step with HR." \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.licenses="Apache-2.0"
