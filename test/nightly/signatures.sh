#!/usr/bin/env bash
# Checks with `npm audit signatures` that the installed packages are signed by the registry that they came from. A registry without
# signatures, or one whose keys cannot be had from here, is said and is no failure; a wrong signature is one.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if said=$(npm audit signatures 2>&1); then
  echo "$said"
  exit 0
fi
case $said in
# Only then were there keys to check with.
*'audited '*)
  echo "$said" >&2
  exit 1
  ;;
*)
  echo "! the signatures of the packages were not checked, because npm says:"
  echo "$said" | grep -v '^npm warn' | head -8
  ;;
esac
