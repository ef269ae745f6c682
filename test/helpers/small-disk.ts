import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, open, rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { command } from './cli.ts'

/** A folder on a disk of its own, which only the programs see that are started through `rollcall`. */
export type SmallDisk = AsyncDisposable & {
  /** The path of a `rollcall` that sees the disk. */
  readonly rollcall: string
  /** Writes until nothing more can be written. */
  fill(): Promise<void>
  /** Takes away what filled it. */
  empty(): Promise<void>
}

const namespaces = ['--user', '--map-root-user', '--mount']

/** Why there are no disks of our own on this machine; null if there are. */
export function whyNoSmallDisk(): string | null {
  const { status, error } = spawnSync('unshare', [...namespaces, 'true'])
  if (status === 0) return null
  return `not run here, where a user cannot mount anything: unshare ${error?.message ?? `ended with ${status}`}`
}

/** Mounts a disk of this many MiB over a folder. `helperFolder`: where a script for that may be written. */
export async function openSmallDisk(folder: string, mebibytes: number, helperFolder: string): Promise<SmallDisk> {
  await using opening = new AsyncDisposableStack()
  const script = `mount -t tmpfs -o size=${mebibytes}m,mode=700 tmpfs "$1" && echo mounted && exec sleep infinity`
  const holder = spawn('unshare', [...namespaces, 'sh', '-c', script, 'sh', folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(holder, 'exit')
  opening.defer(async () => {
    holder.kill('SIGKILL')
    await ended
  })
  const begun = await Promise.race([once(holder.stdout, 'data'), ended.then(() => null)])
  if (begun === null) throw new Error('no disk could be mounted')
  const rollcall = join(helperFolder, 'rollcall-on-small-disk')
  const enter = `exec nsenter --target ${holder.pid} --user --mount --preserve-credentials -- '${command}' "$@"`
  await writeFile(rollcall, `#!/bin/sh\n${enter}\n`)
  await chmod(rollcall, 0o755)
  // What the holder sees there.
  const inside = join('/proc', `${holder.pid}`, 'root', folder)
  const filler = join(inside, 'filler')
  const held = opening.move()
  return {
    rollcall,
    async fill() {
      await using file = await open(filler, 'a')
      const { bavail, bsize } = await statfs(inside)
      const rest = Buffer.alloc(bsize)
      for (let blocks = bavail + 1; blocks > 0; blocks -= 1) {
        const isFull = await file.write(rest).then(
          () => false,
          (error: NodeJS.ErrnoException) => {
            if (error.code === 'ENOSPC') return true
            throw error
          },
        )
        if (isFull) return
      }
    },
    empty: () => rm(filler),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}
