import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { errorCode, Failure } from '../../errors.ts'
import { replaceFile } from '../../system/replace-file.ts'

const DaemonAddress = z.object({
  pid: z.int(),
  /** Where webhooks and probes are served. */
  url: z.string(),
  /** The Unix socket at which commands reach the control API. */
  socket: z.string(),
  startedAt: z.string(),
})
type DaemonAddress = z.infer<typeof DaemonAddress>

/** Announces the address of the daemon to the commands on this machine, until disposed. */
export async function announceAddress(dataDir: string, address: DaemonAddress): Promise<AsyncDisposable> {
  const file = addressFile(dataDir)
  await replaceFile(file, (draft) => draft.writeFile(`${JSON.stringify(address)}\n`), { mode: 0o644 })
  return { [Symbol.asyncDispose]: () => rm(file, { force: true }) }
}

/** The address that the daemon of this data folder announced; it may have died since. Null if none did. */
export async function readAddress(dataDir: string): Promise<DaemonAddress | null> {
  try {
    return DaemonAddress.parse(JSON.parse(await readFile(addressFile(dataDir), 'utf8')))
  } catch (error) {
    const code = errorCode(error)
    if (code !== 'EACCES' && code !== 'EPERM') return null
    const help = 'run the command as the account of the daemon'
    throw new Failure('config_invalid', `${addressFile(dataDir)} cannot be read (${code}): ${help}`, { cause: error })
  }
}

function addressFile(dataDir: string): string {
  return join(dataDir, 'daemon.json')
}
