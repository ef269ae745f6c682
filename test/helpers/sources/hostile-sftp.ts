import { randomBytes } from 'node:crypto'
import type { Attributes } from 'ssh2'
import type { SftpRequest } from './sftp-folder.ts'
import type { SshServer } from './ssh-server.ts'

const regular = 0o100644
const endOfFile = 1
const people = 'people.csv'

type Lie = (request: SftpRequest) => boolean

/** What an entry of a listing says of itself. */
type Entry = { readonly name: string; readonly size: number; readonly at: Date }

function attributesOf({ size, at }: Pick<Entry, 'size' | 'at'>): Attributes {
  const seconds = Math.floor(at.getTime() / 1000)
  return { mode: regular, uid: 0, gid: 0, size, atime: seconds, mtime: seconds }
}

/** Falls silent when it is asked this. */
export function silentAt(operation: string): Lie {
  return ({ name }) => name === operation
}

/** Lists these, in place of what is there, and tells the truth otherwise. */
export function listing(...entries: readonly Entry[]): Lie {
  let hasListed = false
  return ({ name, id, sftp }) => {
    if (name === 'OPENDIR') hasListed = false
    if (name !== 'READDIR') return false
    if (hasListed) {
      sftp.status(id, endOfFile)
      return true
    }
    hasListed = true
    const names = entries.map((entry) => ({ filename: entry.name, longname: '', attrs: attributesOf(entry) }))
    sftp.name(id, names)
    return true
  }
}

/** Says everywhere that the export is of this size and time. */
export function stating(size: number, at: Date): Lie {
  const list = listing({ name: people, size, at })
  return (request) => {
    const { name, path, id, sftp } = request
    if ((name !== 'LSTAT' && name !== 'FSTAT') || path !== people) return list(request)
    sftp.attrs(id, attributesOf({ size, at }))
    return true
  }
}

/** Answers every request for bytes with one, of a file that never ends. */
export function byteByByte(size: number, at: Date): Lie {
  const state = stating(size, at)
  return (request) => {
    if (request.name !== 'READ') return state(request)
    request.sftp.data(request.id, Buffer.from('x'))
    return true
  }
}

/** Answers a request for bytes with four times as many as SFTP clients ask for. */
export function tooMuch(): Lie {
  const noise = randomBytes(128 * 1024)
  return ({ name, id, sftp }) => {
    if (name !== 'READ') return false
    sftp.data(id, noise)
    return true
  }
}

/** Says that it has done this, and has not. */
export function pretending(operation: string): Lie {
  return ({ name, id, sftp }) => {
    if (name !== operation) return false
    sftp.status(id, 0)
    return true
  }
}

/** Lists names in batches, each a match, for as long as it is asked. */
export function endlessListing(at: Date): Lie {
  let count = 0
  return ({ name, id, sftp }) => {
    if (name !== 'READDIR') return false
    const attrs = attributesOf({ size: 9, at })
    sftp.name(
      id,
      Array.from({ length: 500 }, () => ({ filename: `people-${++count}.csv`, longname: '', attrs })),
    )
    return true
  }
}

/** Makes the server lie, or be honest again. */
export function lies(server: SshServer, lie: Lie | undefined): void {
  server.faults.answer = lie
}
