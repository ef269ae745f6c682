import { Failure } from '../../errors.ts'
import {
  type DiscoveryOptions,
  givenList,
  headBytes,
  type NamedSource,
  readSecretFile,
  recordsOption,
  requireSettings,
  type SourcePreview,
  secretFileReference,
} from '../discovery.ts'
import { exportStart } from '../export/export-start.ts'
import { readHeadFromBytes } from '../file/decode/head.ts'
import { exportPattern } from '../file/names.ts'
import { chooseRemoteExport } from '../remote/choice.ts'
import { folderOf } from './choice.ts'
import { readStart } from './fetch.ts'
import { loadSftp } from './load.ts'
import { findMatches, joinRemotePath, parseRemotePattern } from './matches.ts'
import type { SftpSession } from './session.ts'
import { SftpSource } from './settings.ts'

/** Reads the beginning of the newest export on an SFTP server. */
export async function previewSftp(named: NamedSource, options: DiscoveryOptions): Promise<SourcePreview> {
  const list = givenList(named.settings)
  const { address, secretFile, secret } = await requireAccess(named, options)
  const settingName = /PRIVATE KEY|PuTTY-User-Key/.test(secret) ? 'privateKey' : 'password'
  const checks = { mode: 'snapshot', complete: { quietSeconds: 0 } }
  const source = requireSettings(SftpSource.safeParse({ ...address, [settingName]: secret, ...checks }))
  const { signal } = options
  const { connectSftp } = await loadSftp()
  const secretOf = (name: string) => (name === settingName ? { read: async () => secret } : null)
  await using session = await connectSftp(source, { secret: secretOf, signal })
  const path = await exportPath(session, source.path)
  const folder = folderOf(session, { ...source, path })
  const chosen = await chooseRemoteExport(folder, source, { findDecided: async () => new Set(), signal })
  if (chosen === null) throw new Error('no export was chosen')
  const { file } = chosen
  const bytes = await readStart(session, file.path, headBytes)
  const head = await readHeadFromBytes(bytes, { name: file.name, isWhole: bytes.length === file.bytes, signal })
  const reference = secretFileReference(secretFile, options)
  const { settings, ...start } = exportStart(head, { ...list, recordsHelp: recordsOption })
  return { ...start, source: { ...address, path, ...settings, [settingName]: reference }, laterExports: null }
}

async function requireAccess({ location, secretFile, hostKey }: NamedSource, options: DiscoveryOptions) {
  const url = new URL(location)
  if (url.password !== '')
    throw new Failure('usage', 'others can read a password on the command line: name its file with --secret-file')
  if (secretFile === undefined || hostKey === undefined)
    throw new Failure(
      'usage',
      'an SFTP source needs --secret-file (the password or the private key) and --host-key (as ssh-keyscan HOST | ssh-keygen -lf - prints it)',
    )
  const address = {
    type: 'sftp',
    host: url.hostname,
    ...(url.port !== '' && { port: Number(url.port) }),
    username: decodeURIComponent(url.username),
    hostKeys: [hostKey],
    path: remotePath(url),
  }
  return { address, secretFile, secret: await readSecretFile(secretFile, options) }
}

function remotePath({ pathname }: URL): string {
  const path = decodeURIComponent(pathname)
  return path.endsWith('/') ? `${path}*` : path
}

/** The pattern of the exports in a folder; any other path as it is. */
async function exportPath(session: SftpSession, path: string): Promise<string> {
  const all = path.endsWith('/*') ? path : `${path}/*`
  if (all !== path && (await session.stats(path))?.kind !== 'folder') return path
  const { files } = await findMatches(session, parseRemotePattern(all), [])
  return joinRemotePath(parseRemotePattern(all).folder, exportPattern(files.map(({ name }) => name)))
}
