import { constants } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, readdir, rename, unlink } from 'node:fs/promises'
import { basename, join, normalize } from 'node:path'
import type { Attributes, FileEntry, SFTPWrapper } from 'ssh2'

const status = { endOfFile: 1, noSuchFile: 2, permissionDenied: 3, failure: 4 } as const

/** A request of SFTP as it arrived, and how to answer it otherwise than from the folder. */
export type SftpRequest = {
  readonly name: string
  readonly path: string
  /** Where a file is to be moved. */
  readonly to: string | undefined
  readonly id: number
  readonly sftp: SFTPWrapper
  /** Ends every connection without a word. */
  readonly cut: () => void
}

/** What goes wrong; may be changed while the server runs. */
export type Faults = {
  /** Ends the connections in place of sending more bytes of files than these, counted from when it was set. */
  cutAfterBytes?: number
  /** Falls silent in place of sending more bytes of files than these. */
  stallAfterBytes?: number
  /** Answers a request itself where it returns true. */
  answer?: ((request: SftpRequest) => boolean) | undefined
}

/** The requests and responses of the server so far. */
export type ServerActivity = {
  /** Bytes of files that were sent. */
  fileBytes: number
  connections: number
  /** The methods of login attempts. */
  readonly logins: string[]
  readonly requests: string[]
  /** The hash of each signature that a key logged in with. */
  readonly signatures: string[]
}

type Opened = { readonly path: string; readonly file?: FileHandle; entries?: FileEntry[] }

type Served = {
  readonly folder: string
  readonly faults: Faults
  readonly activity: ServerActivity
  readonly cut: () => void
}

/** Answers the requests of SFTP from a folder. */
export function serveFolder(sftp: SFTPWrapper, { folder, faults, activity, cut }: Served): void {
  const opened = new Map<number, Opened>()
  let handles = 0
  const local = (path: string) => join(folder, normalize(`/${path}`))
  const at = (handle: Buffer) => opened.get(handle.readUInt32BE(0)) ?? { path: '' }
  const fileOf = (handle: Buffer) => {
    const { file } = at(handle)
    if (!file) throw new Error('not an open file')
    return file
  }
  const keep = (id: number, entry: Opened) => {
    const handle = Buffer.alloc(4)
    handle.writeUInt32BE(++handles)
    opened.set(handles, entry)
    sftp.handle(id, handle)
  }

  /** Each answers one request; what it throws becomes a status. */
  const handlers: Record<string, (id: number, ...rest: never[]) => Promise<unknown>> = {
    async OPENDIR(id, path: string) {
      const names = await readdir(local(path))
      const entries = await Promise.all(names.map((name) => entryOf(join(local(path), name))))
      keep(id, { path, entries })
    },
    async READDIR(id, handle: Buffer) {
      const entries = at(handle).entries?.splice(0, 100) ?? []
      return entries.length > 0 ? sftp.name(id, entries) : sftp.status(id, status.endOfFile)
    },
    async OPEN(id, path: string) {
      keep(id, { path, file: await open(local(path), constants.O_RDONLY) })
    },
    async READ(id, handle: Buffer, offset: number, length: number) {
      const { bytesRead, buffer } = await fileOf(handle).read(Buffer.alloc(length), 0, length, offset)
      if (bytesRead === 0) return sftp.status(id, status.endOfFile)
      if (activity.fileBytes + bytesRead > (faults.cutAfterBytes ?? Number.POSITIVE_INFINITY)) return cut()
      if (activity.fileBytes + bytesRead > (faults.stallAfterBytes ?? Number.POSITIVE_INFINITY)) return
      activity.fileBytes += bytesRead
      sftp.data(id, buffer.subarray(0, bytesRead))
    },
    async CLOSE(id, handle: Buffer) {
      const { file } = at(handle)
      opened.delete(handle.readUInt32BE(0))
      await file?.close()
      sftp.status(id, 0)
    },
    async LSTAT(id, path: string) {
      sftp.attrs(id, (await entryOf(local(path))).attrs)
    },
    async FSTAT(id, handle: Buffer) {
      sftp.attrs(id, attributes(await fileOf(handle).stat()))
    },
    async RENAME(id, from: string, to: string) {
      if (await lstat(local(to)).catch(() => undefined)) return sftp.status(id, status.failure)
      await rename(local(from), local(to))
      sftp.status(id, 0)
    },
    async REMOVE(id, path: string) {
      await unlink(local(path))
      sftp.status(id, 0)
    },
    async MKDIR(id, path: string) {
      await mkdir(local(path))
      sftp.status(id, 0)
    },
  }
  let turn: Promise<unknown> = Promise.resolve()
  for (const [name, handler] of Object.entries(handlers)) {
    sftp.on(name as 'OPEN', (id: number, ...rest: unknown[]) => {
      const path = Buffer.isBuffer(rest[0]) ? at(rest[0]).path : String(rest[0])
      activity.requests.push(`${name} ${path}`)
      if (faults.answer?.({ name, path, to: name === 'RENAME' ? String(rest[1]) : undefined, id, sftp, cut })) return
      // One after the other, as servers do: what a test cuts off has arrived up to there.
      turn = turn.then(() => handler(id, ...(rest as never[])).catch((error) => sftp.status(id, statusOf(error))))
    })
  }
  sftp.on('error', () => {})
  const closeAll = () => {
    for (const { file } of opened.values()) file?.close().catch(() => {})
  }
  sftp.on('close', closeAll)
  sftp.on('end', closeAll)
}

async function entryOf(path: string): Promise<FileEntry> {
  return { filename: basename(path), longname: basename(path), attrs: attributes(await lstat(path)) }
}

export function attributes(stats: {
  readonly mode: number
  readonly size: number
  readonly mtimeMs: number
}): Attributes {
  const mtime = Math.floor(stats.mtimeMs / 1000)
  return { mode: stats.mode, uid: 0, gid: 0, size: stats.size, atime: mtime, mtime }
}

function statusOf(error: unknown): number {
  const code = error instanceof Error && 'code' in error ? error.code : ''
  if (code === 'ENOENT') return status.noSuchFile
  return code === 'EACCES' ? status.permissionDenied : status.failure
}
