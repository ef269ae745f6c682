import { archiveStamp } from '../file/afterwards.ts'
import { companionNames } from '../file/completeness.ts'
import { noFreeName } from '../file/failures.ts'
import type { ArchiveRequest } from '../remote/connector.ts'
import { toObjectFile } from './choice.ts'
import type { ObjectStore, StoredObject } from './store.ts'
import { folderKey, nameOfKey } from './store.ts'

const maxNameAttempts = 1000

/**
 * Moves or deletes the export that was read, and its companions. Does nothing if the export no longer exists or was replaced since. The
 * export goes last: while it exists, another call completes an interrupted one, companions included.
 */
export async function archiveObject(
  store: ObjectStore,
  request: ArchiveRequest & { readonly prefix: string },
): Promise<void> {
  const { prefix, source, target, suffixes, now } = request
  const companions: StoredObject[] = []
  for (const name of suffixes.flatMap((suffix) => companionNames(source.name, suffix))) {
    const companion = await store.find(prefix + name)
    if (companion !== undefined) companions.push(companion)
  }
  // Looked up last: the companions above are then none of a newer export, which come after it.
  const object = await store.find(prefix + source.name)
  if (object === undefined || toObjectFile(object).version !== source.version) return
  for (const each of [...companions, object]) {
    if (target !== null)
      await store.copy(each, await findFreeKey(store, { folder: folderKey(prefix, target), each, now }))
    await store.remove(each)
  }
}

type ArchivedName = { readonly folder: string; readonly each: StoredObject; readonly now: Date }

async function findFreeKey(store: ObjectStore, { folder, each, now }: ArchivedName): Promise<string> {
  const stamp = archiveStamp(now)
  const name = nameOfKey(each.key)
  for (let number = 1; number <= maxNameAttempts; number += 1) {
    const key = `${folder}${number === 1 ? stamp : `${stamp}-${number}`}-${name}`
    if ((await store.find(key)) === undefined) return key
  }
  throw noFreeName(`${folder} in ${store.server}`, { stamp, name, attempts: maxNameAttempts })
}
