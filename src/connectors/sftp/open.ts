import type { Connector, ConnectorContext } from '../connector.ts'
import { remoteConnector } from '../remote/connector.ts'
import { archiveRemoteExport } from './archive.ts'
import { folderOf } from './choice.ts'
import { download, readText } from './fetch.ts'
import { loadSftp } from './load.ts'
import { joinRemotePath, parseRemotePattern, type RemoteFile } from './matches.ts'
import type { SftpSource } from './settings.ts'
import type { RemoteStats } from './stats.ts'

/** Reads exports from an SFTP server. */
export function sftpConnector(source: SftpSource, context: ConnectorContext): Connector {
  const { host, port, username, path } = source
  const { secret, spoolDir } = context
  const { folder } = parseRemotePattern(path)
  const serverId = JSON.stringify([host, port, username])
  return remoteConnector<RemoteFile, RemoteStats>(source, context, async (signal) => {
    const { connectSftp } = await loadSftp()
    const session = await connectSftp(source, { secret, signal })
    return {
      signal,
      folder: folderOf(session, source),
      download: (file) => download(session, file, { spoolDir, serverId }),
      readText: (_companion, name) => readText(session, joinRemotePath(folder, name)),
      archive: (request) => archiveRemoteExport(session, { path, ...request }),
      [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
    }
  })
}
