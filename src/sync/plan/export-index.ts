import { createHash, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import type { RowTraits } from '../../identity/lint/traits.ts'

/** Raised whenever what an index holds, or what follows from it, is another thing than before. */
export const indexVersion = 1
/** Of a digest, as it is kept: nobody finds two records that share one. */
export const digestBytes = 16
/** So many kinds of rows are told apart; rows of any other kind are read every time. */
export const kindsKept = 255

const entriesInPart = 65_536
const countBytes = 4
const lengthBytes = 2
const nothingThere = -1

const Head = z.strictObject({
  rules: z.string(),
  day: z.iso.date(),
  entries: z.int().min(0),
  kinds: z.array(z.int()).max(kindsKept),
  open: z.array(z.string()),
})

/** What an index says of the export as a whole. */
export type IndexHead = z.infer<typeof Head>

/** An index as it is kept. */
export type StoredIndex = { readonly head: string; readonly parts: readonly Buffer[]; readonly seal: Buffer }

/**
 * What an accepted export leaves behind: of each of its records from which nothing follows as long as nothing happens, a keyed digest, the
 * person's key and what checks need to know of it, in the order of the export. `open` are the people of whom something may follow
 * whatever the next export says; everybody else who was known has left.
 */
export class ExportIndex {
  readonly head: IndexHead
  readonly #digests: Buffer
  readonly #kinds: Uint8Array
  readonly #keys: Buffer
  /** Where the key of each entry ends. */
  readonly #keyEnds: Uint32Array
  #byDigest: Int32Array | null = null
  #byKey: Int32Array | null = null
  /** The entry that is expected next: exports keep their order. */
  #expected = 0

  constructor(head: IndexHead, entries: Entries) {
    this.head = head
    this.#digests = entries.digests
    this.#kinds = entries.kinds
    this.#keys = entries.keys
    this.#keyEnds = entries.keyEnds
  }

  get size(): number {
    return this.head.entries
  }

  /** The entry with this digest; -1 for none. */
  find(digest: string): number {
    const expected = this.#expected
    const found = expected < this.size && this.#hasDigest(expected, digest) ? expected : this.#lookUp(digest)
    if (found !== nothingThere) this.#expected = found + 1
    return found
  }

  /** The entry of this person; -1 for none. */
  findKey(identityId: string): number {
    const key = Buffer.from(identityId)
    const table =
      this.#byKey ?? this.#tableOf((entry) => hashOf(this.#keys, this.#keyStart(entry), this.#keyEnds[entry]))
    this.#byKey = table
    for (let at = hashOf(key, 0, key.length) & (table.length - 1); ; at = (at + 1) & (table.length - 1)) {
      const entry = table[at] ?? nothingThere
      if (entry === nothingThere || this.#keyBytes(entry).equals(key)) return entry
    }
  }

  kindOf(entry: number): number {
    return this.#kinds[entry] ?? 0
  }

  keyOf(entry: number): string {
    return this.#keyBytes(entry).toString('utf8')
  }

  /** Adds an entry to those of another index. */
  copyTo(entry: number, entries: Pick<EntriesBuilder, 'add'>, kind: number): void {
    const digest = this.#digests.subarray(entry * digestBytes, (entry + 1) * digestBytes)
    entries.add({ digest, kind, key: this.#keyBytes(entry) })
  }

  #keyBytes(entry: number): Buffer {
    return this.#keys.subarray(this.#keyStart(entry), this.#keyEnds[entry])
  }

  #keyStart(entry: number): number {
    return entry === 0 ? 0 : (this.#keyEnds[entry - 1] ?? 0)
  }

  #hasDigest(entry: number, digest: string): boolean {
    const start = entry * digestBytes
    for (let at = 0; at < digestBytes; at += 1) if (this.#digests[start + at] !== digest.charCodeAt(at)) return false
    return true
  }

  #lookUp(digest: string): number {
    const table = this.#byDigest ?? this.#tableOf((entry) => this.#digests.readInt32LE(entry * digestBytes))
    this.#byDigest = table
    const first =
      digest.charCodeAt(0) | (digest.charCodeAt(1) << 8) | (digest.charCodeAt(2) << 16) | (digest.charCodeAt(3) << 24)
    for (let at = first & (table.length - 1); ; at = (at + 1) & (table.length - 1)) {
      const entry = table[at] ?? nothingThere
      if (entry === nothingThere || this.#hasDigest(entry, digest)) return entry
    }
  }

  #tableOf(hashed: (entry: number) => number): Int32Array {
    const slots = 2 ** Math.ceil(Math.log2(2 * this.size + 2))
    const table = new Int32Array(slots).fill(nothingThere)
    for (let entry = 0; entry < this.size; entry += 1) {
      let at = hashed(entry) & (slots - 1)
      while (table[at] !== nothingThere) at = (at + 1) & (slots - 1)
      table[at] = entry
    }
    return table
  }
}

type Entries = {
  readonly digests: Buffer
  readonly kinds: Uint8Array
  readonly keys: Buffer
  readonly keyEnds: Uint32Array
}

type Entry = { readonly digest: Buffer; readonly kind: number; readonly key: Buffer }

/** Collects entries in the form in which they are kept. */
export class EntriesBuilder {
  readonly #parts: Buffer[] = []
  #digests = Buffer.allocUnsafe(entriesInPart * digestBytes)
  #kinds = Buffer.allocUnsafe(entriesInPart)
  #lengths = Buffer.allocUnsafe(entriesInPart * lengthBytes)
  #keys = Buffer.allocUnsafe(entriesInPart * 16)
  #keysUntil = 0
  #count = 0
  /** How many were added. */
  size = 0

  add({ digest, kind, key }: Entry): void {
    digest.copy(this.#digests, this.#count * digestBytes)
    this.#kinds[this.#count] = kind
    this.#lengths.writeUInt16LE(key.length, this.#count * lengthBytes)
    if (this.#keysUntil + key.length > this.#keys.length)
      this.#keys = Buffer.concat([this.#keys], this.#keys.length * 2 + key.length)
    key.copy(this.#keys, this.#keysUntil)
    this.#keysUntil += key.length
    this.#count += 1
    this.size += 1
    if (this.#count === entriesInPart) this.#close()
  }

  parts(): readonly Buffer[] {
    if (this.#count > 0) this.#close()
    return this.#parts
  }

  #close(): void {
    const count = Buffer.alloc(countBytes)
    count.writeUInt32LE(this.#count)
    this.#parts.push(
      Buffer.concat([
        count,
        this.#digests.subarray(0, this.#count * digestBytes),
        this.#kinds.subarray(0, this.#count),
        this.#lengths.subarray(0, this.#count * lengthBytes),
        this.#keys.subarray(0, this.#keysUntil),
      ]),
    )
    this.#count = 0
    this.#keysUntil = 0
  }
}

/** An index in the form in which it is kept, sealed with a key: nobody else can make one. */
export function sealIndex(head: IndexHead, parts: readonly Buffer[], key: Buffer): StoredIndex {
  const text = JSON.stringify(head)
  return { head: text, parts, seal: sealOf(text, parts, key) }
}

/** The index, or why it cannot be used. */
export function openIndex(
  { head: text, parts, seal }: StoredIndex,
  key: Buffer,
): ExportIndex | { readonly reason: string } {
  const expected = sealOf(text, parts, key)
  if (seal.length !== expected.length || !timingSafeEqual(seal, expected))
    return { reason: 'what the last export left behind is damaged, or another installation has made it' }
  const head = Head.parse(JSON.parse(text))
  const digests = Buffer.allocUnsafe(head.entries * digestBytes)
  const kinds = new Uint8Array(head.entries)
  const keyEnds = new Uint32Array(head.entries)
  const keys: Buffer[] = []
  let first = 0
  let end = 0
  for (const part of parts) {
    const count = part.readUInt32LE(0)
    const kindsAt = countBytes + count * digestBytes
    const lengthsAt = kindsAt + count
    const keysAt = lengthsAt + count * lengthBytes
    part.copy(digests, first * digestBytes, countBytes, kindsAt)
    kinds.set(part.subarray(kindsAt, lengthsAt), first)
    for (let at = 0; at < count; at += 1) {
      end += part.readUInt16LE(lengthsAt + at * lengthBytes)
      keyEnds[first + at] = end
    }
    keys.push(part.subarray(keysAt))
    first += count
  }
  return new ExportIndex(head, { digests, kinds, keys: Buffer.concat(keys), keyEnds })
}

function sealOf(head: string, parts: readonly Buffer[], key: Buffer): Buffer {
  const sealed = createHash('sha256')
    .update(key)
    .update(`${Buffer.byteLength(head)}\n`)
    .update(head)
  for (const part of parts) sealed.update(part)
  return sealed.digest()
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
