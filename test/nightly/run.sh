#!/usr/bin/env bash
# What takes too long for every change: every test in its larger form, thousands of random kills, and the README's commands on a minimal
# machine. The random kills have a new seed each night; ROLLCALL_SEED repeats one.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export ROLLCALL_SEED=${ROLLCALL_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
failed=0

part() {
  printf '\n== %s (ROLLCALL_SEED=%s)\n' "$*" "$ROLLCALL_SEED"
  "$@" && return
  failed=$((failed + 1))
  echo "✖ failed: $* (ROLLCALL_SEED=$ROLLCALL_SEED)" >&2
}

part npm run test:full
part npm run test:soak
part test/nightly/minimal-machine.sh

printf '\n%s of 3 parts failed (ROLLCALL_SEED=%s)\n' "$failed" "$ROLLCALL_SEED"
[ "$failed" -eq 0 ]
