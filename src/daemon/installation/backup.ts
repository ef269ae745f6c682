import { access, type FileHandle } from 'node:fs/promises'
import { basename, isAbsolute } from 'node:path'
import { Writable } from 'node:stream'
import { errorCode, Failure } from '../../errors.ts'
import { recordAuditEntry } from '../../store/audit/trail.ts'
import { dumpStore } from '../../store/backup/dump.ts'
import { type BackupSize, writeBackup } from '../../store/backup/file.ts'
import type { Db } from '../../store/schema.ts'
import { replaceFile } from '../../system/replace-file.ts'
import { version } from '../../version.ts'

type BackedUp = BackupSize & { readonly file: string; readonly bytes: number; readonly madeAt: string }

type BackupRequest = { readonly file: string; readonly by: string; readonly now: Date }

/** Writes a backup into a file that only this account can read. The file appears once it is complete. Throws `conflict` if it exists. */
export async function backUp(db: Db, { file, by, now }: BackupRequest): Promise<BackedUp> {
  if (!isAbsolute(file)) throw new Failure('usage', `name the whole path of the backup, not "${file}"`)
  await refuseExisting(file)
  const written = await writing(file, async (draft) => {
    const size = await writeBackup(streamInto(draft), (take) => dumpStore(db, { version, now }, take))
    await draft.sync()
    const { size: bytes } = await draft.stat()
    return { ...size, bytes }
  })
  const { rows, people, bytes, sha256 } = written
  const details = { file: basename(file), rows, people, bytes, sha256 }
  await recordAuditEntry(db, { act: 'store.backed_up', connection: null, by, details, now })
  return { file, madeAt: now.toISOString(), ...written }
}

/** A stream into a file that stays open. */
function streamInto(draft: FileHandle): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      draft.writeFile(chunk).then(() => done(), done)
    },
  })
}

async function refuseExisting(file: string): Promise<void> {
  const isThere = await access(file).then(
    () => true,
    () => false,
  )
  if (isThere) throw new Failure('conflict', `${file} is there already; name another file`)
}

async function writing<T>(file: string, write: (draft: FileHandle) => Promise<T>): Promise<T> {
  try {
    return await replaceFile(file, write)
  } catch (error) {
    const code = errorCode(error)
    if (error instanceof Failure || code === undefined || !/^E[A-Z]+$/.test(code)) throw error
    throw new Failure('conflict', `the backup ${file} cannot be written (${code}); nothing is left of it`, {
      cause: error,
    })
  }
}
