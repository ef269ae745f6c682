#!/usr/bin/env bash
# What takes too long for every change: every test in its larger form, thousands of random kills and of turns of the truth, half an hour of
# a daemon that is left alone, the README's commands on a minimal machine, two images of one commit, and the signatures of the packages.
# Chance has a new seed each night; ROLLCALL_SEED repeats one. RESULTS.md is written from what was found.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export ROLLCALL_SEED=${ROLLCALL_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
failed=0
reports=$(mktemp -d)
trap 'rm -rf "$reports"' EXIT

part() {
  printf '\n== %s (ROLLCALL_SEED=%s)\n' "$*" "$ROLLCALL_SEED"
  "$@" && return
  failed=$((failed + 1))
  echo "✖ failed: $* (ROLLCALL_SEED=$ROLLCALL_SEED)" >&2
}

# Runs a script of package.json that runs tests, and takes what they found into the table.
tests() {
  local report=$reports/$1.json
  part npm run "$1" -- --reporter=default --reporter=json --outputFile="$report"
  [ ! -e "$report" ] || npm run --silent results -- "npm run $1=$report"
}

tests test:full
tests test:kills
tests test:soak
tests test:truth
part test/nightly/minimal-machine.sh
part test/nightly/same-image.sh
part test/nightly/signatures.sh

printf '\n%s of 7 parts failed (ROLLCALL_SEED=%s)\n' "$failed" "$ROLLCALL_SEED"
[ "$failed" -eq 0 ]
