#!/usr/bin/env bash
# Shows that two builds of the same commit give the same image: names, rights, owners and contents of all files. The builds use no
# cache and two copies of the project. Needs a Docker engine that has or can pull the base image.
set -euo pipefail
project=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

if ! docker info >/dev/null 2>&1; then
  echo "comparing images needs a Docker engine, and none answers" >&2
  exit 69
fi

work=$(mktemp -d)
built=()
finish() {
  [ ${#built[@]} -eq 0 ] || docker image rm --force "${built[@]}" >/dev/null
  rm -rf "$work"
}
trap finish EXIT

# Every file of an image but what an engine puts into each container.
list() {
  docker run --rm --network none --user root --entrypoint sh "$1" -c '
    find / -xdev -path /proc -prune -o -path /sys -prune -o -path /dev -prune -o -printf "%M %u %g %p %l\n" |
      grep -vE " /(etc/(hosts|hostname|resolv.conf|mtab)|\.dockerenv)( |$)" | sort
    find / -xdev \( -path /proc -o -path /sys -o -path /dev \) -prune -o -type f -print0 |
      grep -zvE "^/(etc/(hosts|hostname|resolv.conf|mtab)|\.dockerenv)$" | sort -z | xargs -0 sha256sum'
}

for copy in one two; do
  mkdir "$work/$copy"
  # The second copy is made later, so that its files have other times.
  (cd "$project" && tar -cf - Dockerfile .dockerignore package.json package-lock.json package bin config docs src ./*.md LICENSE) | tar -C "$work/$copy" -xmf -
  docker build --no-cache --quiet --tag "rollcall-$$:$copy" "$work/$copy"
  built+=("rollcall-$$:$copy")
  list "rollcall-$$:$copy" >"$work/$copy.files"
done

if diff "$work/one.files" "$work/two.files" >"$work/differences"; then
  echo "both images hold the same $(wc -l <"$work/one.files") entries"
else
  echo "the images differ:" >&2
  head -40 "$work/differences" >&2
  exit 1
fi
