import type { Connector, ConnectorContext, Decision, OpenOptions, Reading, SourceIdentity } from '../connector.ts'
import { asOfFile } from '../file/as-of.ts'
import { companionSuffixes } from '../file/completeness.ts'
import { parseSideFile, type SideFileStatement } from '../file/side-file.ts'
import { nothingNew } from '../nothing-new.ts'
import { type ChosenRemoteExport, chooseRemoteExport } from '../remote/choice.ts'
import { type FetchedExport, readFetched, requireSideFile } from '../remote/fetched.ts'
import { archiveObject } from './archive.ts'
import { folderOf, type ObjectFile } from './choice.ts'
import { download, readText } from './fetch.ts'
import { startLimits } from './limits.ts'
import { openBucket } from './load.ts'
import type { ObjectStorageSource } from './settings.ts'
import type { ObjectStore } from './store.ts'

/**
 * Reads exports from a bucket. Opening the source fetches the whole export, and continues an attempt that broke off. The rows are read
 * from the copy, which is removed when the reading is closed.
 */
export function objectStorageConnector(source: ObjectStorageSource, context: ConnectorContext): Connector {
  return {
    open: (options) => openSource(source, context, options),
    archive: (identity, decision) => archive(source, context, { identity, decision }),
  }
}

type ReadExport = { readonly identity: SourceIdentity; readonly decision: Decision }

async function archive(source: ObjectStorageSource, context: ConnectorContext, { identity, decision }: ReadExport) {
  const { archiveDir, rejectDir, ...actions } = source.afterwards
  const action = actions[decision]
  if (action === 'keep') return
  using limits = startLimits(source, new AbortController().signal)
  const store = await openBucket(source, { secret: context.secret, limits })
  const folder = decision === 'accepted' ? archiveDir : rejectDir
  await archiveObject(store, {
    prefix: source.prefix,
    source: identity,
    target: action === 'delete' ? null : folder,
    suffixes: companionSuffixes(source.complete),
    now: new Date(),
  }).finally(store.close)
}

async function openSource(
  source: ObjectStorageSource,
  context: ConnectorContext,
  options: OpenOptions,
): Promise<Reading> {
  const fetched = await fetchNext(source, context, options)
  if (!fetched) return nothingNew(options.now())
  return await readFetched(fetched, source, { signal: options.signal, secret: context.secret })
}

async function fetchNext(
  source: ObjectStorageSource,
  context: ConnectorContext,
  options: OpenOptions,
): Promise<FetchedExport | null> {
  const { spoolDir, secret } = context
  const { idleTimeoutMs } = source
  using limits = startLimits(source, options.signal)
  const { signal } = limits
  const store = await openBucket(source, { secret, limits })
  try {
    const chosen = await chooseRemoteExport(folderOf(store, source), source, { ...options, signal })
    if (!chosen) return null
    const { file, more } = chosen
    const asOf = asOfFile(file, { ...source, now: options.now() })
    const stated = await readSideFile(store, source, chosen)
    const local = await download(store, file, { spoolDir, idleTimeoutMs })
    return { file, more, asOf, stated, local }
  } finally {
    store.close()
  }
}

async function readSideFile(
  store: ObjectStore,
  { complete: { sideFile } }: ObjectStorageSource,
  { file, companions }: ChosenRemoteExport<ObjectFile, ObjectFile>,
): Promise<SideFileStatement | null> {
  if (!sideFile) return null
  const { suffix, holds } = sideFile
  const name = requireSideFile(companions, { exportName: file.name, suffix, server: store.server })
  const companion = companions.get(name)
  if (companion === undefined) throw new Error('the side file is one of the companions')
  return parseSideFile(await readText(store, companion), { holds, exportName: file.name, name })
}
