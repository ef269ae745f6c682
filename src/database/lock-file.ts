import { readFile, rm, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { z } from 'zod'
import { errorCode, Failure } from '../errors.ts'
import { takeFileLock } from '../system/file-lock.ts'

const Holder = z.object({ pid: z.int(), host: z.string(), startedAt: z.string() })
type Holder = z.infer<typeof Holder>

// Two processes that try at the same moment see each other's lock for an instant. The timeout lets one of them win.
const lockTimeoutMs = 500
const namingAttempts = 20
const namingPauseMs = 50

/**
 * Claims a folder for this process until disposed. If another process has it, this fails at once and names the pid of that process.
 *
 * The claim is an exclusive lock of the operating system on the file `lock.db`, so it is never stale. The file `lock` only tells which
 * process has the folder.
 */
export async function lockFolder(folder: string): Promise<AsyncDisposable> {
  const claim = takeFileLock(join(folder, 'lock.db'), { timeoutMs: lockTimeoutMs })
  if (claim === null)
    throw new Failure(
      'already_active',
      `${folder} is in use by ${await nameHolder(folder)}; stop it, or use its control API`,
    )
  await using opening = new AsyncDisposableStack()
  opening.use(claim)
  const holder: Holder = { pid: process.pid, host: hostname(), startedAt: new Date().toISOString() }
  opening.defer(() => rm(whoFile(folder), { force: true }))
  await writeFile(whoFile(folder), `${JSON.stringify(holder)}\n`)
  return opening.move()
}

/** Names the process that has the folder. If it has just started, `lock` may still name a dead process, so the file is read again. */
async function nameHolder(folder: string): Promise<string> {
  for (let attempt = 0; attempt < namingAttempts; attempt++) {
    const holder = await readHolder(folder)
    if (holder !== null && holder.host !== hostname()) return `process ${holder.pid} on ${holder.host}`
    if (holder !== null && isAlive(holder.pid)) return `process ${holder.pid}`
    await setTimeout(namingPauseMs)
  }
  return 'another process'
}

async function readHolder(folder: string): Promise<Holder | null> {
  try {
    return Holder.parse(JSON.parse(await readFile(whoFile(folder), 'utf8')))
  } catch {
    return null
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return errorCode(error) === 'EPERM'
  }
}

function whoFile(folder: string): string {
  return join(folder, 'lock')
}
