import type { RowTraits } from '../../../identity/lint/traits.ts'

/** How many bytes of a digest are stored: enough that nobody can find two records with the same digest. */
export const digestBytes = 16
/** Maximum number of kinds of rows. Rows of any further kind are parsed every time. */
export const maxKinds = 255

const none = -1
/** How many entries after the expected one are searched before the whole index is. */
const maxNearby = 4
/** After this many consecutive records that are not nearby, the export is considered reordered and a table of digests is built. */
const maxStrayInRow = 16
/** A table of keys is built after this many linear searches, or when a key is part of this many other keys. */
const maxKeySearches = 32
const maxPartialMatches = 1000

/** Passes the bytes of keys one after the other: those from `start` to `end` are one key. */
export type EachKey = (take: (keys: Buffer, start: number, end: number) => void) => void

/** What an index holds about the export as a whole. */
export type IndexHead = {
  /** A digest of everything besides the records that decides what follows from them. */
  readonly rules: string
  /** The day on which the export was read. */
  readonly day: string
  /** How many entries there are. */
  readonly entries: number
  readonly kinds: readonly number[]
  readonly open: readonly string[]
}

/**
 * Entries side by side. The key of each ends at its `keyEnds`. `addresses`: of the first ones, what their e-mail addresses are compared by,
 * in as many bytes as a digest; zeros: that is not known.
 */
export type Entries = {
  readonly digests: Buffer
  readonly kinds: Uint8Array
  readonly keys: Buffer
  readonly keyEnds: Int32Array
  readonly addresses: Buffer
}

/** Ranges of consecutive entries. One digest covers the text of a range, which has this many bytes. */
export type UnchangedRanges = {
  readonly firsts: Int32Array
  readonly counts: Uint8Array
  readonly bytes: Int32Array
  readonly digests: Buffer
}

/** Consecutive records of the last export that one digest covers. `first` is the entry of the first of them. */
export type UnchangedRange = {
  readonly first: number
  readonly records: number
  readonly bytes: number
  readonly digest: Buffer
}

/**
 * The index of an accepted export, in its order: for each record from which nothing follows while it stays the same, a keyed digest, the
 * person's key and what the checks need to know. `open` lists the people who need another decision whatever the next export states; everybody
 * else who was known has left.
 */
export class ExportIndex {
  readonly head: IndexHead
  readonly entries: Entries
  readonly #ranges: UnchangedRanges
  readonly #open: ReadonlySet<string>
  #byDigest: Int32Array | null = null
  #byKey: Int32Array | null = null
  #keySearches = 0
  /** The entry that is expected next: exports keep their order. */
  #expected = 0
  #range = 0
  #strayInRow = 0

  constructor(head: IndexHead, entries: Entries, ranges: UnchangedRanges) {
    this.head = head
    this.entries = entries
    this.#ranges = ranges
    this.#open = new Set(head.open)
  }

  get size(): number {
    return this.head.entries
  }

  /** The entry with this digest; -1 for none. May miss an entry that is not where it is expected, until many are not. */
  find(digest: string): number {
    const entry = this.#byDigest === null ? this.#findNearby(digest) : this.#lookUp(digest)
    if (entry !== none) this.#expected = entry + 1
    return entry
  }

  /** The range that starts at the expected entry; null for none. */
  expectedRange(): UnchangedRange | null {
    const { firsts, counts, bytes, digests } = this.#ranges
    let at = this.#range
    // Usually the search goes forwards; a reordered export can go back.
    if (at > 0 && (firsts[at - 1] ?? 0) >= this.#expected) at = 0
    while (at < firsts.length && (firsts[at] ?? 0) < this.#expected) at += 1
    this.#range = at
    if (firsts[at] !== this.#expected) return null
    return {
      first: this.#expected,
      records: counts[at] ?? 0,
      bytes: bytes[at] ?? 0,
      digest: digests.subarray(at * digestBytes, (at + 1) * digestBytes),
    }
  }

  /** Moves the expected entry behind this range. */
  passRange({ first, records }: UnchangedRange): void {
    this.#expected = first + records
    this.#strayInRow = 0
  }

  /** The entry of this person; -1 for none. */
  findKey(identityId: string): number {
    if (this.#open.has(identityId)) return none
    const key = Buffer.from(identityId)
    if (this.#byKey === null && this.#keySearches < maxKeySearches) {
      this.#keySearches += 1
      const entry = this.#searchKey(key)
      if (entry !== null) return entry
    }
    const table = this.#byKey ?? this.#tableOfKeys()
    for (let at = hashOf(key, 0, key.length) & (table.length - 1); ; at = (at + 1) & (table.length - 1)) {
      const entry = table[at] ?? none
      if (entry === none || this.#keyBytes(entry).equals(key)) return entry
    }
  }

  kindOf(entry: number): number {
    return this.entries.kinds[entry] ?? 0
  }

  keyOf(entry: number): string {
    return keyAt(this.entries, entry)
  }

  /** The digest of the e-mail address of an entry; null if it is not known. */
  addressOf(entry: number): string | null {
    const { addresses } = this.entries
    const start = entry * digestBytes
    if (start >= addresses.length) return null
    const address = addresses.toString('latin1', start, start + digestBytes)
    return address === noAddress ? null : address
  }

  #keyBytes(entry: number): Buffer {
    return this.entries.keys.subarray(keyStart(this.entries, entry), this.entries.keyEnds[entry])
  }

  #findNearby(digest: string): number {
    const expected = this.#expected
    const until = Math.min(this.size, expected + maxNearby)
    for (let entry = expected; entry < until; entry += 1) {
      if (!this.#hasDigest(entry, digest)) continue
      this.#strayInRow = 0
      return entry
    }
    this.#strayInRow += 1
    return this.#strayInRow < maxStrayInRow ? none : this.#lookUp(digest)
  }

  #hasDigest(entry: number, digest: string): boolean {
    return isDigestAt(this.entries.digests, entry, digest)
  }

  #lookUp(digest: string): number {
    const table = this.#byDigest ?? this.#tableOfDigests()
    const first =
      digest.charCodeAt(0) | (digest.charCodeAt(1) << 8) | (digest.charCodeAt(2) << 16) | (digest.charCodeAt(3) << 24)
    for (let at = first & (table.length - 1); ; at = (at + 1) & (table.length - 1)) {
      const entry = table[at] ?? none
      if (entry === none || this.#hasDigest(entry, digest)) return entry
    }
  }

  /** Searches all keys for this one; null if it is part of too many others. */
  #searchKey(key: Buffer): number | null {
    const { keys, keyEnds } = this.entries
    let at = keys.indexOf(key)
    for (let matches = 0; matches < maxPartialMatches; matches += 1) {
      if (at < 0) return none
      const entry = entryAt(keyEnds, at)
      if (this.#keyBytes(entry).equals(key)) return entry
      at = keys.indexOf(key, at + 1)
    }
    return null
  }

  #tableOfDigests(): Int32Array {
    const { digests } = this.entries
    const table = emptyTable(this.size)
    for (let entry = 0; entry < this.size; entry += 1) put(table, digests.readInt32LE(entry * digestBytes), entry)
    this.#byDigest = table
    return table
  }

  #tableOfKeys(): Int32Array {
    const { keys, keyEnds } = this.entries
    const table = emptyTable(this.size)
    let start = 0
    for (let entry = 0; entry < this.size; entry += 1) {
      const end = keyEnds[entry] ?? 0
      put(table, hashOf(keys, start, end), entry)
      start = end
    }
    this.#byKey = table
    return table
  }
}

const noAddress = '\0'.repeat(digestBytes)

/** Whether the digest with this number among digests is the beginning of another one. */
export function isDigestAt(digests: Buffer, number: number, other: string): boolean {
  const start = number * digestBytes
  for (let at = 0; at < digestBytes; at += 1) if (digests[start + at] !== other.charCodeAt(at)) return false
  return true
}

/** The key of an entry. */
export function keyAt(entries: Entries, entry: number): string {
  return entries.keys.toString('utf8', keyStart(entries, entry), entries.keyEnds[entry])
}

/** The byte at which the key of an entry begins. */
export function keyStart({ keyEnds }: Pick<Entries, 'keyEnds'>, entry: number): number {
  return entry === 0 ? 0 : (keyEnds[entry - 1] ?? 0)
}

/** The entry whose key contains this byte. */
function entryAt(keyEnds: Int32Array, byte: number): number {
  let low = 0
  let high = keyEnds.length - 1
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((keyEnds[middle] ?? 0) > byte) high = middle
    else low = middle + 1
  }
  return low
}

function emptyTable(size: number): Int32Array {
  return new Int32Array(2 ** Math.ceil(Math.log2(2 * size + 2))).fill(none)
}

function put(table: Int32Array, hashed: number, entry: number): void {
  const mask = table.length - 1
  let at = hashed & mask
  while (table[at] !== none) at = (at + 1) & mask
  table[at] = entry
}

// FNV-1a: keys of one company differ in few of their characters.
function hashOf(bytes: Buffer, start: number, end = start): number {
  let hashed = 0x811c9dc5
  for (let at = start; at < end; at += 1) hashed = Math.imul(hashed ^ (bytes[at] ?? 0), 0x01000193)
  return hashed ^ (hashed >>> 15)
}

/** The kinds of rows of an index: equal traits make one kind. */
export class Kinds {
  readonly traits: RowTraits[]
  readonly #byTraits: Map<RowTraits, number>

  constructor(traits: readonly RowTraits[] = []) {
    this.traits = [...traits]
    this.#byTraits = new Map(traits.map((each, kind) => [each, kind]))
  }

  /** The kind with these traits; null if there are too many kinds already. */
  of(traits: RowTraits): number | null {
    const known = this.#byTraits.get(traits)
    if (known !== undefined) return known
    if (this.traits.length === maxKinds) return null
    this.traits.push(traits)
    this.#byTraits.set(traits, this.traits.length - 1)
    return this.traits.length - 1
  }
}
