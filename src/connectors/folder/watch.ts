import type { Stats } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { join, matchesGlob, relative, sep } from 'node:path'
import { watch } from 'chokidar'
import { errorCode } from '../../errors.ts'
import type { Connector } from '../connector.ts'
import { unreadable } from '../file/failures.ts'
import type { Folder } from './choice.ts'
import { isExcluded } from './matches.ts'

const mostSettles = 10

type WatchSettings = {
  readonly by: 'events' | 'polling'
  readonly pollSeconds: number
  /** How long there must be no further sign before `arrived` is called. The wait is at most ten times as long. */
  readonly settleMs?: number
}

/**
 * Calls `arrived` when exports arrive or change in the folder, a moment after the last sign of them. If a marker is configured,
 * markers count instead of exports. Files that are there at the start count as arrived, because they may have come while no one
 * watched. The folder itself may also appear later.
 */
export async function watchFolder(
  folder: Folder,
  { by, pollSeconds, settleMs = 1000 }: WatchSettings,
  { onArrival: arrived, onError: failed }: Parameters<NonNullable<Connector['watch']>>[0],
): Promise<AsyncDisposable> {
  const root = await realFolder(folder.pattern.folder)
  const announcer = announce(arrived, settleMs)
  const watcher = watch(root, {
    backend: by === 'polling' ? 'polling' : 'native',
    pollingInterval: pollSeconds * 1000,
    pollingBinaryInterval: pollSeconds * 1000,
    followSymlinks: false,
    atomic: false,
    ignored: (path, stats) => ignores(relative(root, path), stats, folder),
  })
  watcher.on('add', announcer.sign).on('change', announcer.sign)
  watcher.on('error', (error) => failed(cannotWatch(root, error)))
  await new Promise<void>((resolve) => watcher.once('ready', resolve))
  return {
    async [Symbol.asyncDispose]() {
      announcer.stop()
      await watcher.close()
    },
  }
}

/** Calls `arrived` once there was no sign for `settleMs`, or after ten times as long if the signs go on. */
function announce(arrived: () => void, settleMs: number) {
  let firstSignAtMs: number | null = null
  let timer: NodeJS.Timeout | undefined
  const call = () => {
    firstSignAtMs = null
    arrived()
  }
  return {
    sign() {
      const nowMs = performance.now()
      firstSignAtMs ??= nowMs
      clearTimeout(timer)
      timer = setTimeout(call, Math.max(0, Math.min(settleMs, firstSignAtMs + mostSettles * settleMs - nowMs)))
    },
    stop: () => clearTimeout(timer),
  }
}

/** Ignores files that are no news and folders that cannot hold any, so that a large tree beside the exports costs nothing. */
function ignores(at: string, stats: Stats | undefined, folder: Folder): boolean {
  if (at === '') return false
  if (at.startsWith('..')) return true
  const { pattern } = folder.pattern
  const reach = pattern.includes('**') ? Number.POSITIVE_INFINITY : pattern.split('/').length
  const depth = at.split(sep).length
  if (depth > reach || (depth === reach && stats?.isDirectory())) return true
  const path = join(folder.pattern.folder, at)
  return isExcluded(path, { ...folder.excluded, suffixes: [] }) || (stats?.isFile() === true && !isSign(path, folder))
}

/** Whether a file with this name is a sign of a complete export. */
function isSign(path: string, { pattern, excluded, settings }: Folder): boolean {
  const { marker } = settings.complete
  if (marker !== undefined) return path.endsWith(marker)
  if (isExcluded(path, excluded)) return true
  return path === pattern.literal || matchesGlob(relative(pattern.folder, path), pattern.pattern)
}

async function realFolder(folder: string): Promise<string> {
  try {
    return await realpath(folder)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return folder
    throw cannotWatch(folder, error)
  }
}

function cannotWatch(folder: string, error: unknown) {
  const code = errorCode(error) ?? 'an unknown error'
  const help =
    code === 'ENOSPC' || code === 'EMFILE'
      ? 'the system allows no further watches: raise fs.inotify.max_user_watches and max_user_instances, or write watch: polling'
      : 'check the folder, or write watch: polling'
  return unreadable(`cannot watch ${folder} (${code})`, help, { cause: error })
}
