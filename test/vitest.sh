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
# Tests make and remove so many small files that a disk's file system takes a fifth of the processors' time. Memory that Linux lends as
# a file system has none of that, where there is enough of it.
memory=/dev/shm
free_kib=$(df -Pk "$memory" 2>/dev/null | awk 'NR == 2 && $1 == "tmpfs" { print $4 }')
available_kib=$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo 2>/dev/null || true)
if [ -z "${TMPDIR:-}" ] && [ -w "$memory" ] && [ "${free_kib:-0}" -ge 4194304 ] && [ "${available_kib:-0}" -ge 8388608 ]; then
  export TMPDIR=$memory
fi
# What one process compiles serves all others. Daemons that are killed never keep it, and there are many of them.
export NODE_COMPILE_CACHE="$root/node_modules/.cache/rollcall-tests"
exec node "$root/node_modules/vitest/vitest.mjs" "$@"
