import { existsSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Failure } from '../errors.ts'

const busy = 5

/**
 * Takes the exclusive lock on a file, which is made if it is missing; null if somebody else has it. Disposing releases it.
 *
 * It is a lock of the operating system, which Node can take through SQLite. The system releases it when the process ends, however it
 * ends. So a lock is never stale: no reused pid can hold it, and two starting processes cannot race for the file of a dead one.
 * `timeoutMs`: for how long this process stands still to wait for the lock.
 */
export function takeFileLock(path: string, { timeoutMs }: { readonly timeoutMs: number }): Disposable | null {
  const lock = new DatabaseSync(path, { timeout: timeoutMs })
  try {
    lock.exec('BEGIN EXCLUSIVE')
    return { [Symbol.dispose]: () => lock.close() }
  } catch (error) {
    lock.close()
    if (error instanceof Error && 'errcode' in error && error.errcode === busy) return null
    throw error
  }
}

/** A lock that this process has, and its file. */
type HeldLock = Disposable & { readonly path: string }

/** Other processes can take the lock of a new file only within microseconds. */
const maxNewFiles = 5

/**
 * Takes the lock on a new file, for as long as what it stands for is in use: other processes remove what has a lock that nobody holds, and
 * the file of the lock. `newPath`: a path that nobody uses. Throws a failure where no file can be locked, as on some network file systems.
 */
export function takeNewFileLock(newPath: () => string, takeLock = takeFileLock): HeldLock {
  let path = newPath()
  for (let attempt = 1; attempt <= maxNewFiles; attempt += 1) {
    const lock = takeLock(path, { timeoutMs: 0 })
    // Another process may have taken the lock, and removed it, before this one had it.
    if (lock !== null && existsSync(path)) return { path, [Symbol.dispose]: () => lock[Symbol.dispose]() }
    lock?.[Symbol.dispose]()
    rmSync(path, { force: true })
    path = newPath()
  }
  throw new Failure(
    'source_unreadable',
    `no file in ${dirname(path)} can be locked: put dataDir on a local disk, because network file systems often have no locks`,
  )
}
