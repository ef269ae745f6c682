import type { RowTraits } from '../../../identity/lint/traits.ts'

/** So many bytes of a digest are kept, which is enough: nobody finds two records with the same ones. */
export const digestBytes = 16
/** So many kinds of rows are told apart; rows of any other kind are read every time. */
export const kindsKept = 255

const nothingThere = -1
/** A record that is not where it is expected is looked for in so many places behind. */
const nearby = 4
/** So many records in a row that are not nearby either are no longer where they were: the order of the export is another one. */
const strayInRow = 16
/** So many keys are looked for in all keys, and a key that stands in so many others, before a table is made of them. */
const keysSearched = 32
const placesSearched = 1000

/** What an index says of the export as a whole. */
export type IndexHead = {
  /** A digest of everything that decides how records are read, besides themselves. */
  readonly rules: string
  /** The day on which the export was read. */
  readonly day: string
  /** How many there are. */
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

/** Stretches of entries in their order: what was text in a row is known by one digest. `bytes` are those of the text. */
export type Stretches = {
  readonly firsts: Int32Array
  readonly counts: Uint8Array
  readonly bytes: Int32Array
  readonly digests: Buffer
}

export type UnchangedRange = {
  readonly first: number
  readonly records: number
  readonly bytes: number
  readonly digest: Buffer
}

/**
 * What an accepted export leaves behind: of each of its records from which nothing follows as long as nothing happens, a keyed digest, the
 * person's key and what checks need to know of it, in the order of the export. `open` lists the people who are looked at again whatever
 * the next export says; everybody else who was known has left.
 */
export class ExportIndex {
  readonly head: IndexHead
  readonly entries: Entries
  readonly #stretches: Stretches
  readonly #open: ReadonlySet<string>
  #byDigest: Int32Array | null = null
  #byKey: Int32Array | null = null
  #keysSearched = 0
  /** The entry that is expected next: exports keep their order. */
  #expected = 0
  #stretch = 0
  #strayInRow = 0

  constructor(head: IndexHead, entries: Entries, stretches: Stretches) {
    this.head = head
    this.entries = entries
    this.#stretches = stretches
    this.#open = new Set(head.open)
  }

  get size(): number {
    return this.head.entries
  }

  /** The entry with this digest; -1 for none. One that is not where it is expected is found once it is clear that many are not. */
  find(digest: string): number {
    const found = this.#byDigest === null ? this.#findNearby(digest) : this.#lookUp(digest)
    if (found !== nothingThere) this.#expected = found + 1
    return found
  }

  /** The stretch that is expected next; null for none. */
  expectedStretch(): UnchangedRange | null {
    const { firsts, counts, bytes, digests } = this.#stretches
    let at = this.#stretch
    // What came before is behind us, but for exports in another order.
    if (at > 0 && (firsts[at - 1] ?? 0) >= this.#expected) at = 0
    while (at < firsts.length && (firsts[at] ?? 0) < this.#expected) at += 1
    this.#stretch = at
    if (firsts[at] !== this.#expected) return null
    return {
      first: this.#expected,
      records: counts[at] ?? 0,
      bytes: bytes[at] ?? 0,
      digest: digests.subarray(at * digestBytes, (at + 1) * digestBytes),
    }
  }

  /** What comes behind this stretch is expected next. */
  passStretch({ first, records }: UnchangedRange): void {
    this.#expected = first + records
    this.#strayInRow = 0
  }

  /** The entry of this person; -1 for none. */
  findKey(identityId: string): number {
    if (this.#open.has(identityId)) return nothingThere
    const key = Buffer.from(identityId)
    if (this.#byKey === null && this.#keysSearched < keysSearched) {
      this.#keysSearched += 1
      const found = this.#searchKey(key)
      if (found !== null) return found
    }
    const table = this.#byKey ?? this.#tableOfKeys()
    for (let at = hashOf(key, 0, key.length) & (table.length - 1); ; at = (at + 1) & (table.length - 1)) {
      const entry = table[at] ?? nothingThere
      if (entry === nothingThere || this.#keyBytes(entry).equals(key)) return entry
    }
  }

  kindOf(entry: number): number {
    return this.entries.kinds[entry] ?? 0
  }

  keyOf(entry: number): string {
    return keyAt(this.entries, entry)
  }

  /** What the e-mail address of an entry is compared by; null: that is not known. */
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
    const until = Math.min(this.size, expected + nearby)
    for (let entry = expected; entry < until; entry += 1) {
      if (!this.#hasDigest(entry, digest)) continue
      this.#strayInRow = 0
      return entry
    }
    this.#strayInRow += 1
    return this.#strayInRow < strayInRow ? nothingThere : this.#lookUp(digest)
  }

  #hasDigest(entry: number, digest: string): boolean {
    return isDigestAt(this.entries.digests, entry, digest)
  }

  #lookUp(digest: string): number {
    const table = this.#byDigest ?? this.#tableOfDigests()
    const first =
      digest.charCodeAt(0) | (digest.charCodeAt(1) << 8) | (digest.charCodeAt(2) << 16) | (digest.charCodeAt(3) << 24)
    for (let at = first & (table.length - 1); ; at = (at + 1) & (table.length - 1)) {
      const entry = table[at] ?? nothingThere
      if (entry === nothingThere || this.#hasDigest(entry, digest)) return entry
    }
  }

  /** Looks for a key in all of them; null if it stands within too many of them to tell. */
  #searchKey(key: Buffer): number | null {
    const { keys, keyEnds } = this.entries
    let at = keys.indexOf(key)
    for (let places = 0; places < placesSearched; places += 1) {
      if (at < 0) return nothingThere
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

/** The entry in whose key this byte stands. */
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
  return new Int32Array(2 ** Math.ceil(Math.log2(2 * size + 2))).fill(nothingThere)
}

function put(table: Int32Array, hashed: number, entry: number): void {
  const mask = table.length - 1
  let at = hashed & mask
  while (table[at] !== nothingThere) at = (at + 1) & mask
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

  /** Null: there are too many already. */
  of(traits: RowTraits): number | null {
    const known = this.#byTraits.get(traits)
    if (known !== undefined) return known
    if (this.traits.length === kindsKept) return null
    this.traits.push(traits)
    this.#byTraits.set(traits, this.traits.length - 1)
    return this.traits.length - 1
  }
}
