#!/bin/sh
# Runs vitest on the Node that npm installed for this project. npm 10 leaves its link out of node_modules/.bin, and a script would get the
# machine's own.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
for node in "$root"/node_modules/node-*/bin/node; do
  if [ -x "$node" ]; then
    PATH=$(dirname -- "$node"):$PATH
    break
  fi
done
export PATH
exec node "$root/node_modules/vitest/vitest.mjs" "$@"
