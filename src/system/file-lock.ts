import { DatabaseSync } from 'node:sqlite'

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
