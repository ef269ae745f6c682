import { randomUUID } from 'node:crypto'
import { mkdir, open, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { type ExportFile, exportFileAt } from '../../connectors/file/export-file.ts'
import { errorCode, Failure } from '../../errors.ts'
import { Refusal, refuse } from '../../http/refusal.ts'

/** An uploaded export. */
export type Upload = {
  readonly id: string
  /** The person who uploaded it; nobody else may use it. */
  readonly principal: string
  readonly name: string
  readonly at: Date
  readonly file: ExportFile
}

/** The limits of uploads. */
export type UploadLimits = {
  readonly maxBytes: number
  /** Maximum number of stored uploads of all people together. */
  readonly maxUploads: number
  /** How long an unused upload is kept. */
  readonly maxIdleMs: number
}

/** Stores uploaded exports until they are dropped. */
export type Uploads = AsyncDisposable & {
  readonly limits: UploadLimits
  /** Stores an export and drops the person's previous one. `check` throws for a file that is no export. */
  take(bytes: AsyncIterable<Uint8Array>, request: UploadRequest): Promise<Upload>
  /** Throws `not_found` if it is gone or belongs to somebody else. */
  find(id: string, principal: string): Upload
  drop(id: string): Promise<void>
}

type UploadRequest = {
  readonly name: string
  readonly principal: string
  readonly check: (file: ExportFile) => Promise<void>
}
type Kept = Upload & { readonly folder: string; readonly timer: NodeJS.Timeout }

const mebibyte = 1024 * 1024
const defaults: UploadLimits = { maxBytes: 256 * mebibyte, maxUploads: 4, maxIdleMs: 30 * 60_000 }
const retryAfterSeconds = 60

type UploadOptions = {
  readonly now: () => Date
  readonly failed: (error: unknown) => void
  readonly limits?: UploadLimits
}

/** Stores uploads below `folder`, from which it removes what a previous process left. */
export async function openUploads(folder: string, { now, failed, limits = defaults }: UploadOptions): Promise<Uploads> {
  await rm(folder, { recursive: true, force: true })
  const kept = new Map<string, Kept>()
  let arriving = 0

  async function drop(id: string): Promise<void> {
    const upload = kept.get(id)
    if (upload === undefined) return
    kept.delete(id)
    clearTimeout(upload.timer)
    await rm(upload.folder, { recursive: true, force: true })
  }

  async function dropOthers(principal: string, id?: string): Promise<void> {
    for (const other of kept.values()) if (other.principal === principal && other.id !== id) await drop(other.id)
  }

  return {
    limits,
    async take(bytes, { name, principal, check }) {
      await dropOthers(principal)
      if (kept.size + arriving >= limits.maxUploads) throw tooMany()
      const id = randomUUID()
      const own = join(folder, id)
      arriving += 1
      try {
        // Each has a folder, so that what is left of it can be removed as a whole.
        await mkdir(own, { recursive: true, mode: 0o700 })
        const path = join(own, 'export')
        await write(path, bytes, limits.maxBytes)
        const file = await exportFileAt(path, shortName(name))
        await check(file)
        // What cannot be removed now is removed with the folder, when this process ends or the next one starts.
        const timer = setTimeout(() => drop(id).catch(failed), limits.maxIdleMs).unref()
        const upload = { id, principal, name: file.name, at: now(), file }
        kept.set(id, { ...upload, folder: own, timer })
        // Another upload of the same person may have ended meanwhile.
        await dropOthers(principal, id).catch(failed)
        return upload
      } catch (error) {
        await rm(own, { recursive: true, force: true })
        throw error
      } finally {
        arriving -= 1
      }
    },
    find(id, principal) {
      const upload = kept.get(id)
      if (upload?.principal !== principal)
        throw new Failure('not_found', 'the export is no longer here: upload it again')
      upload.timer.refresh()
      return upload
    },
    drop,
    async [Symbol.asyncDispose]() {
      for (const { timer } of kept.values()) clearTimeout(timer)
      kept.clear()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function write(path: string, bytes: AsyncIterable<Uint8Array>, mostBytes: number): Promise<void> {
  await using file = await open(path, 'wx', 0o600)
  let total = 0
  for await (const chunk of arrivingOf(bytes)) {
    total += chunk.length
    if (total > mostBytes)
      throw refuse(
        'TooLarge',
        `the export is larger than ${mostBytes / mebibyte} MiB: pack it with zip or gzip, or let "rollcall init" read it where it is`,
      )
    await file.writeFile(chunk).catch((error: unknown) => Promise.reject(writeFailure(error)))
  }
}

/** The chunks as they come. Where they end too early, the sender learns that nothing was kept. */
async function* arrivingOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* bytes
  } catch (error) {
    if (error instanceof Refusal || error instanceof Failure) throw error
    throw refuse('MalformedBody', 'the export did not arrive as a whole: upload it again')
  }
}

function writeFailure(error: unknown): unknown {
  const code = errorCode(error)
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return error
  return refuse('Unavailable', 'the disk of the data folder is full: make room, and upload the export again')
}

function tooMany(): Refusal {
  const message = 'several exports are being looked at already: try again when they are done with'
  return new Refusal(429, message, { headers: { 'retry-after': `${retryAfterSeconds}` } })
}

/** The last part of what a browser says, which may be a path of another system. */
function shortName(name: string): string {
  return basename(name.replaceAll('\\', '/')).replaceAll(/\p{C}/gu, '').slice(-100) || 'export'
}
