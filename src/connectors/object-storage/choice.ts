import { createHash } from 'node:crypto'
import { escapeText } from '../../text/escape.ts'
import { companionSuffixes } from '../file/completeness.ts'
import type { ExportFile } from '../file/export-file.ts'
import { checkNotEmpty, unreadable } from '../file/failures.ts'
import type { RemoteFolder, RemoteMatches } from '../remote/choice.ts'
import { matchesName } from '../remote/matches-name.ts'
import type { ObjectStorageSource } from './settings.ts'
import { nameOfKey, type ObjectStore, type StoredObject } from './store.ts'

/** Maximum number of objects that are listed to select an export. */
const maxObjects = 50_000

/** An object that is an export. `path` is its key; `version` is made from its key and its state. */
export type ObjectFile = ExportFile & { readonly object: StoredObject }

/** An object as a file. */
export function toObjectFile(object: StoredObject): ObjectFile {
  const { key, bytes, modifiedAtMs, etag } = object
  // Listings have milliseconds and headers only seconds: compare seconds.
  const version = createHash('sha256')
    .update(JSON.stringify([key, bytes, Math.floor(modifiedAtMs / 1000), etag]))
    .digest('hex')
  return { path: key, name: nameOfKey(key), bytes, modifiedAtMs, version, object }
}

/** Where the exports of a source arrive. */
export function folderOf(
  store: ObjectStore,
  { prefix, pattern, complete }: Pick<ObjectStorageSource, 'prefix' | 'pattern' | 'complete'>,
): RemoteFolder<ObjectFile, ObjectFile> {
  const suffixes = companionSuffixes(complete)
  return {
    server: store.server,
    pattern: prefix + pattern,
    findMatches: () => findMatches(store, { prefix, pattern, suffixes }),
    checkFile: ({ name, bytes }) => {
      const label = `${name} in ${store.server}`
      if (name !== escapeText(name))
        throw unreadable(`${label} has a name with characters that are not shown`, 'give it another name')
      checkNotEmpty(label, bytes)
    },
  }
}

type ObjectPattern = { readonly prefix: string; readonly pattern: string; readonly suffixes: readonly string[] }

async function findMatches(
  store: ObjectStore,
  { prefix, pattern, suffixes }: ObjectPattern,
): Promise<RemoteMatches<ObjectFile, ObjectFile>> {
  const files: ObjectFile[] = []
  const companions = new Map<string, ObjectFile>()
  let count = 0
  for await (const object of store.list(prefix + commonPrefix(pattern, suffixes))) {
    count += 1
    if (count > maxObjects) throw tooMany(`${prefix}${pattern} in ${store.server}`)
    const file = toObjectFile(object)
    // The consoles of providers make an empty object for a folder.
    if (file.name === '') continue
    if (suffixes.some((suffix) => file.name.endsWith(suffix))) companions.set(file.name, file)
    else if (matchesName(file.name, pattern)) files.push(file)
  }
  return { files, companions }
}

/** The common prefix of the names of all exports and companions. A companion may have its suffix in place of the export's. */
function commonPrefix(pattern: string, suffixes: readonly string[]): string {
  const [literal = ''] = pattern.split(/[*?]/)
  const dot = literal.lastIndexOf('.')
  return suffixes.length > 0 && dot > 0 ? literal.slice(0, dot) : literal
}

function tooMany(label: string) {
  return unreadable(
    `${label}: there are more than ${maxObjects} objects`,
    'have old exports archived, or write a pattern that begins with more letters',
  )
}
