import { Failure } from '../../errors.ts'
import {
  type ExportPreview,
  headBytes,
  type DiscoveryOptions,
  type NamedSource,
  readSecretFile,
  secretFileReference,
  requireSettings,
} from '../discovery.ts'
import { readHeadFromBytes } from '../file/decode/head.ts'
import { chooseExport } from './choice.ts'
import { readStart } from './fetch.ts'
import { loadSftp } from './load.ts'
import type { SftpSession } from './session.ts'
import { SftpSource } from './settings.ts'

/** Looks at the newest export on an SFTP server. */
export async function previewSftp(
  { location: address, secretFile, hostKey }: NamedSource,
  options: DiscoveryOptions,
): Promise<ExportPreview> {
  const url = new URL(address)
  if (url.password !== '')
    throw new Failure('usage', 'others can read a password on the command line: name its file with --secret-file')
  if (secretFile === undefined || hostKey === undefined)
    throw new Failure(
      'usage',
      'an SFTP source needs --secret-file (the password or the private key) and --host-key (as ssh-keyscan HOST | ssh-keygen -lf - prints it)',
    )
  const secret = await readSecretFile(secretFile, options)
  const setting = /PRIVATE KEY|PuTTY-User-Key/.test(secret) ? 'privateKey' : 'password'
  const at = {
    type: 'sftp',
    host: url.hostname,
    ...(url.port !== '' && { port: Number(url.port) }),
    username: decodeURIComponent(url.username),
    hostKeys: [hostKey],
    path: remotePath(url),
  }
  const quiet = { quietSeconds: 0 }
  const source = requireSettings(SftpSource.safeParse({ ...at, [setting]: secret, mode: 'snapshot', complete: quiet }))
  const { signal } = options
  const { connectSftp } = await loadSftp()
  const known = (name: string) => (name === setting ? { read: async () => secret } : null)
  await using session = await connectSftp(source, { secret: known, signal })
  const path = await exportsIn(session, source.path)
  const chosen = await chooseExport(session, { ...source, path }, { findDecided: async () => new Set(), signal })
  if (chosen === null) throw new Error('the newest export is always chosen')
  const bytes = await readStart(session, chosen.file.path, headBytes)
  const isWhole = bytes.length === chosen.file.bytes
  const head = await readHeadFromBytes(bytes, { name: chosen.file.name, isWhole, signal })
  return { head, source: { ...at, path, [setting]: secretFileReference(secretFile, options) }, laterExports: null }
}

function remotePath({ pathname }: URL): string {
  const path = decodeURIComponent(pathname)
  return path.endsWith('/') ? `${path}*.csv` : path
}

/** What a path on the server names: its exports where it is a folder, written with or without a / at its end. */
async function exportsIn(session: Pick<SftpSession, 'stats'>, path: string): Promise<string> {
  const stats = await session.stats(path)
  return stats?.kind === 'folder' ? `${path}/*.csv` : path
}
