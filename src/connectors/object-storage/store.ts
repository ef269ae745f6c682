/** An object in a bucket, in one state. */
export type StoredObject = {
  readonly key: string
  readonly bytes: number
  readonly modifiedAtMs: number
  /** Changes with every write. */
  readonly etag: string
}

/** One bucket of a provider. Every method throws what `objectFailure` makes of the provider's errors. */
export type ObjectStore = {
  /** The bucket, as messages name it. */
  readonly server: string
  /** Identifies provider, endpoint and bucket. */
  readonly id: string
  /** The objects whose keys begin with `start`, without those in folders below the last / of `start`. */
  readonly list: (start: string) => AsyncIterable<StoredObject>
  /** The object as it is now; undefined if there is none. */
  readonly find: (key: string) => Promise<StoredObject | undefined>
  /** The bytes from `from` to the end. Fails if the object has another state by now. */
  readonly read: (object: StoredObject, from: number) => AsyncIterable<Buffer>
  /** Copies the object to a free key. Fails if the object has another state by now. */
  readonly copy: (object: StoredObject, key: string) => Promise<void>
  /** Deletes the object unless it has another state by now. */
  readonly remove: (object: StoredObject) => Promise<void>
  /** Ends all connections. */
  readonly close: () => void
}

/** What opens a bucket besides its settings. */
export type StoreOptions = {
  /** The secret at a path of the settings; undefined if it is not set. */
  readonly secret: (path: string) => Promise<string | undefined>
  readonly signal: AbortSignal
}

/** The last part of a key. */
export function nameOfKey(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1)
}

/** What the keys in a folder begin with. `folder` is relative to `prefix`, or to the whole bucket if it begins with /. */
export function folderKey(prefix: string, folder: string): string {
  const path = folder.startsWith('/') ? folder.slice(1) : prefix + folder
  return path === '' || path.endsWith('/') ? path : `${path}/`
}
