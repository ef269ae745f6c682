#!/usr/bin/env bash
# Shows that the two commands of the README pass on a machine with nothing but Debian, Node 20 and npm: no Docker, no Redis, no PostgreSQL,
# no Chromium, no git. Makes such a root file system with debootstrap, copies how this machine reaches its mirrors into it, and runs
# the commands there. Needs root; takes as long as the tests and some minutes more. The folder of the root can be given, else it is a
# temporary one.
set -euo pipefail
project=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap >/dev/null; then
  echo "a minimal machine needs root and debootstrap (apt-get install debootstrap)" >&2
  exit 69
fi
. /etc/os-release
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}

root=${1:-$(mktemp -d /var/tmp/rollcall-minimal-XXXXXX)}
[ $# -gt 0 ] || trap 'rm -rf --one-file-system "$root"' EXIT

# A temporary folder is for its owner alone, and accounts such as that of PostgreSQL have to find their programs in here.
mkdir -p "$root"
chmod 755 "$root"

echo "== a minimal ${VERSION_CODENAME} in $root"
debootstrap --variant=minbase --include=ca-certificates "$VERSION_CODENAME" "$root" "$mirror" >"$root.log" 2>&1 || {
  tail -20 "$root.log" >&2
  exit 70
}
rm -f "$root.log"

# How this machine reaches the mirrors: sources and keys of apt, settings of npm, certificates, names.
for path in etc/apt etc/ssl/certs etc/npmrc usr/etc/npmrc usr/share/keyrings etc/resolv.conf etc/hosts root/.npmrc; do
  [ -e "/$path" ] || continue
  mkdir -p "$root/$(dirname "$path")"
  cp -RL "/$path" "$root/$(dirname "$path")/" 2>/dev/null || true
done
# The Node and the npm of many a machine, from npm, as Debian's own may be older.
case $(uname -m) in aarch64) processor=arm64 ;; *) processor=x64 ;; esac
npm install --global --prefix "$root/usr/local" --no-audit --no-fund "node-linux-$processor@20" npm@10
mkdir -p "$root/project"
tar -C "$project" --exclude=./node_modules --exclude=./.git --exclude=./data -cf - . | tar -C "$root/project" -xf -

# What is mounted and started in there ends with it.
unshare --mount --pid --fork --kill-child bash -s "$root" <<'OUTSIDE'
set -euo pipefail
root=$1
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/tmp"
exec chroot "$root" /usr/bin/env -i HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
  ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
  NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt DEBIAN_FRONTEND=noninteractive bash -s <<'INSIDE'
set -euo pipefail
TIMEFORMAT='(%0R s)'
# A function is read whole before anything in it could take the rest of this text for its input.
main() {
apt-get update -qq
# Node 26 needs libatomic1, as the README says.
apt-get install -y -qq --no-install-recommends libatomic1 >/dev/null
echo "== Node $(node --version), npm $(npm --version), and neither docker, redis-server, initdb, chromium nor git:"
! command -v docker redis-server initdb chromium git
cd /project
echo "== npm ci --omit=dev && npm run demo"
time npm ci --omit=dev --no-audit --no-fund
time npm run demo -- --once
echo "== npm ci && npm test"
time npm ci --no-audit --no-fund
time npm test
}
main </dev/null
INSIDE
OUTSIDE
