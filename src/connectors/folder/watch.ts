import type { Stats } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { join, matchesGlob, relative, sep } from 'node:path'
import { watch } from 'chokidar'
import { errorCode } from '../../errors.ts'
import type { Connector } from '../connector.ts'
import { unreadable } from '../file/failures.ts'
import type { Folder } from './choice.ts'
import { isExcluded } from './matches.ts'

const maxWaitFactor = 10

type WatchSettings = {
  readonly by: 'events' | 'polling'
  readonly pollSeconds: number
  /** How long no further change may be seen before `onArrival` is called. Changes delay it at most ten times as long. */
  readonly quietMs?: number
}

/**
 * Calls `onArrival` a moment after exports arrived or changed in the folder; with a configured marker, after markers did. Files that
 * exist at the start have arrived too, because they may have come while nobody watched. The folder itself may appear later.
 */
export async function watchFolder(
  folder: Folder,
  { by, pollSeconds, quietMs = 1000 }: WatchSettings,
  { onArrival, onError }: Parameters<NonNullable<Connector['watch']>>[0],
): Promise<AsyncDisposable> {
  const root = await realFolder(folder.pattern.folder)
  const arrivals = debounce(onArrival, quietMs)
  const watcher = watch(root, {
    backend: by === 'polling' ? 'polling' : 'native',
    pollingInterval: pollSeconds * 1000,
    pollingBinaryInterval: pollSeconds * 1000,
    followSymlinks: false,
    atomic: false,
    ignored: (path, stats) => isIgnored(relative(root, path), stats, folder),
  })
  watcher.on('add', arrivals.add).on('change', arrivals.add)
  watcher.on('error', (error) => onError(cannotWatch(root, error)))
  await new Promise<void>((resolve) => watcher.once('ready', resolve))
  return {
    async [Symbol.asyncDispose]() {
      arrivals.stop()
      await watcher.close()
    },
  }
}

/** Calls `onArrival` once nothing was added for `quietMs`, or after ten times as long. */
function debounce(onArrival: () => void, quietMs: number) {
  let firstAddedAtMs: number | null = null
  let timer: NodeJS.Timeout | undefined
  const call = () => {
    firstAddedAtMs = null
    onArrival()
  }
  return {
    add() {
      const nowMs = performance.now()
      firstAddedAtMs ??= nowMs
      clearTimeout(timer)
      timer = setTimeout(call, Math.max(0, Math.min(quietMs, firstAddedAtMs + maxWaitFactor * quietMs - nowMs)))
    },
    stop: () => clearTimeout(timer),
  }
}

/** Whether a file is no export and no marker, or a folder cannot hold any: a large tree beside the exports then costs nothing. */
function isIgnored(relativePath: string, stats: Stats | undefined, folder: Folder): boolean {
  if (relativePath === '') return false
  if (relativePath.startsWith('..')) return true
  const { pattern } = folder.pattern
  const maxDepth = pattern.includes('**') ? Number.POSITIVE_INFINITY : pattern.split('/').length
  const depth = relativePath.split(sep).length
  if (depth > maxDepth || (depth === maxDepth && stats?.isDirectory())) return true
  const path = join(folder.pattern.folder, relativePath)
  return (
    isExcluded(path, { ...folder.excluded, suffixes: [] }) || (stats?.isFile() === true && !isArrival(path, folder))
  )
}

/** Whether a file at this path announces a complete export. */
function isArrival(path: string, { pattern, excluded, settings }: Folder): boolean {
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
