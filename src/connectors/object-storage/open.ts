import type { Connector, ConnectorContext } from '../connector.ts'
import { remoteConnector } from '../remote/connector.ts'
import { archiveObject } from './archive.ts'
import { folderOf, type ObjectFile } from './choice.ts'
import { download, readText } from './fetch.ts'
import { startLimits } from './limits.ts'
import { openBucket } from './load.ts'
import type { ObjectStorageSource } from './settings.ts'

/** Reads exports from a bucket. */
export function objectStorageConnector(source: ObjectStorageSource, context: ConnectorContext): Connector {
  const { secret, spoolDir } = context
  const { prefix } = source
  return remoteConnector<ObjectFile, ObjectFile>(source, context, async (caller) => {
    await using opening = new AsyncDisposableStack()
    const limits = opening.use(startLimits(source, caller))
    const store = opening.adopt(await openBucket(source, { secret, limits }), ({ close }) => close())
    const opened = opening.move()
    return {
      signal: limits.signal,
      folder: folderOf(store, source),
      download: (file) => download(store, file, { spoolDir }),
      readText: (companion) => readText(store, companion),
      archive: (request) => archiveObject(store, { prefix, ...request }),
      [Symbol.asyncDispose]: () => opened.disposeAsync(),
    }
  })
}
