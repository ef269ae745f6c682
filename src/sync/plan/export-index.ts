import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import type { RowTraits } from '../../identity/lint/traits.ts'
import { Bytes, Numbers } from './growing.ts'

/** Raised whenever what an index holds, or what follows from it, is another thing than before. */
export const indexVersion = 3
/** Of a digest, as it is kept: nobody finds two records that share one. */
export const digestBytes = 16
/** So many kinds of rows are told apart; rows of any other kind are read every time. */
export const kindsKept = 255

const entriesInPart = 65_536
const nothingThere = -1
/** A record that is not where it is expected is looked for in so many places behind. */
const nearby = 4
/** So many records in a row that are not nearby either are no longer where they were: the order of the export is another one. */
const strayInRow = 16
/** So many keys are looked for in all keys, and a key that stands in so many others, before a table is made of them. */
const keysSearched = 32
const placesSearched = 1000

const Head = z.strictObject({
  version: z.literal(indexVersion),
  rules: z.string(),
  day: z.iso.date(),
  entries: z.int().min(0),
  kinds: z.array(z.int()).max(kindsKept),
  open: z.array(z.string()),
})

/** What an index says of the export as a whole. */
export type IndexHead = Omit<z.infer<typeof Head>, 'version'>

/** An index as it is kept, but for its parts. */
export type SealedIndex = { readonly head: string; readonly seal: Buffer }

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
type Stretches = {
  readonly firsts: Int32Array
  readonly counts: Uint8Array
  readonly bytes: Int32Array
  readonly digests: Buffer
}

export type KnownStretch = {
  readonly first: number
  readonly records: number
  readonly bytes: number
  readonly digest: Buffer
}

/**
 * What an accepted export leaves behind: of each of its records from which nothing follows as long as nothing happens, a keyed digest, the
 * person's key and what checks need to know of it, in the order of the export. `open` are the people of whom something may follow
 * whatever the next export says; everybody else who was known has left.
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
  expectedStretch(): KnownStretch | null {
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
  passStretch({ first, records }: KnownStretch): void {
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

function keyStart({ keyEnds }: Pick<Entries, 'keyEnds'>, entry: number): number {
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

/**
 * Collects entries in the form in which they are kept. A part holds numbers of four bytes (how many entries, stretches and addresses), of
 * each entry its digest, its kind and the length of its key (2 bytes), of each stretch its first entry in the part (2), its length (1), its
 * bytes (4) and its digest, of each of the first entries its address, and at last the keys.
 */
export class EntriesBuilder {
  readonly #parts: Buffer[] = []
  #digests = Buffer.allocUnsafe(entriesInPart * digestBytes)
  #kinds = Buffer.allocUnsafe(entriesInPart)
  #lengths = Buffer.allocUnsafe(entriesInPart * lengthBytes)
  #keys = Buffer.allocUnsafe(entriesInPart * 16)
  #keysUntil = 0
  #count = 0
  #stretches: KnownStretch[] = []
  #addresses = Buffer.alloc(0)
  #addressed = 0
  readonly #addressesKept: number
  /** How many were added. */
  size = 0

  /** `addressesKept`: of so many entries at the beginning. */
  constructor({ addressesKept }: { readonly addressesKept: number }) {
    this.#addressesKept = addressesKept
  }

  /** Adds the entries from one on, so many of them. */
  add(entries: Entries, first: number, count: number): void {
    for (let from = first; from < first + count; ) {
      if (this.#count === entriesInPart) this.#close()
      const until = Math.min(first + count, from + entriesInPart - this.#count)
      this.#copy(entries, from, until)
      from = until
    }
  }

  /** Adds a stretch of entries that were added. It is left out where a part ends within it. */
  addStretch(stretch: KnownStretch): void {
    const firstOfPart = this.size - this.#count
    if (stretch.first >= firstOfPart) this.#stretches.push({ ...stretch, first: stretch.first - firstOfPart })
  }

  /** The parts that are full by now, each of them once. */
  takeParts(): Buffer[] {
    return this.#parts.splice(0)
  }

  /** The parts that are left. */
  end(): Buffer[] {
    if (this.#count > 0) this.#close()
    return this.takeParts()
  }

  #copy(entries: Entries, from: number, until: number): void {
    const { digests, kinds, keys, keyEnds } = entries
    digests.copy(this.#digests, this.#count * digestBytes, from * digestBytes, until * digestBytes)
    this.#kinds.set(kinds.subarray(from, until), this.#count)
    const keysFrom = keyStart(entries, from)
    const keysEnd = keyEnds[until - 1] ?? 0
    const bytes = keysEnd - keysFrom
    if (this.#keysUntil + bytes > this.#keys.length)
      this.#keys = Buffer.concat([this.#keys], this.#keys.length * 2 + bytes)
    keys.copy(this.#keys, this.#keysUntil, keysFrom, keysEnd)
    this.#keysUntil += bytes
    let start = keysFrom
    for (let entry = from; entry < until; entry += 1) {
      const end = keyEnds[entry] ?? 0
      this.#lengths.writeUInt16LE(end - start, (this.#count + entry - from) * lengthBytes)
      start = end
    }
    this.#copyAddresses(entries.addresses, from, until)
    this.#count += until - from
    this.size += until - from
  }

  #copyAddresses(addresses: Buffer, from: number, until: number): void {
    const last = Math.min(until, addresses.length / digestBytes, from + this.#addressesKept - this.size)
    if (last <= from) return
    const place = this.#count * digestBytes
    const end = place + (last - from) * digestBytes
    if (end > this.#addresses.length) this.#addresses = Buffer.concat([this.#addresses], 2 * end)
    addresses.copy(this.#addresses, place, from * digestBytes, last * digestBytes)
    this.#addressed = this.#count + last - from
  }

  #close(): void {
    const stretches = this.#stretches
    const counts = Buffer.alloc(countsBytes)
    counts.writeUInt32LE(this.#count)
    counts.writeUInt32LE(stretches.length, 4)
    counts.writeUInt32LE(this.#addressed, 8)
    const places = Buffer.alloc(stretches.length * stretchBytes)
    for (const [at, { first, records, bytes }] of stretches.entries()) {
      places.writeUInt16LE(first, at * stretchBytes)
      places.writeUInt8(records, at * stretchBytes + 2)
      places.writeUInt32LE(bytes, at * stretchBytes + 3)
    }
    this.#parts.push(
      Buffer.concat([
        counts,
        this.#digests.subarray(0, this.#count * digestBytes),
        this.#kinds.subarray(0, this.#count),
        this.#lengths.subarray(0, this.#count * lengthBytes),
        places,
        ...stretches.map(({ digest }) => digest),
        this.#addresses.subarray(0, this.#addressed * digestBytes),
        this.#keys.subarray(0, this.#keysUntil),
      ]),
    )
    this.#stretches = []
    this.#addresses = Buffer.alloc(0)
    this.#addressed = 0
    this.#count = 0
    this.#keysUntil = 0
  }
}

/** What stands at the beginning of a part, and what it says of the place of a stretch. */
const countsBytes = 12
const stretchBytes = 7
/** The length of a key, and an entry without its key. */
const lengthBytes = 2
const entryBytes = digestBytes + 1 + lengthBytes

/** Seals an index, part by part in their order. Only an installation with the same key can make or check the seal. */
export function indexSealer(key: Buffer) {
  const sealed = createHmac('sha256', key)
  return {
    add: (part: Buffer): void => void sealed.update(part),
    seal(head: IndexHead): SealedIndex {
      const text = JSON.stringify({ version: indexVersion, ...head })
      return { head: text, seal: sealWithHead(sealed, text) }
    },
  }
}

function sealWithHead(sealed: ReturnType<typeof createHmac>, head: string): Buffer {
  return sealed
    .update(head)
    .update(`\n${Buffer.byteLength(head)}`)
    .digest()
}

const unusable = { reason: 'what the last export left behind is damaged, or another version or installation has made it' }

/** The index, or why it cannot be used. `eachPart` gives its parts one after the other, which together have so many bytes at most. */
export async function openIndex(
  {
    head: text,
    seal,
    bytesAtMost,
    eachPart,
  }: SealedIndex & {
    readonly bytesAtMost: number
    readonly eachPart: (take: (part: Buffer) => void) => Promise<void>
  },
  key: Buffer,
): Promise<ExportIndex | { readonly reason: string }> {
  const read = readHead(text)
  if (read === null || read.entries * entryBytes > bytesAtMost) return unusable
  const { version: _, ...head } = read
  const reader = new EntriesReader(head.entries, bytesAtMost)
  const sealed = createHmac('sha256', key)
  await eachPart((part) => {
    sealed.update(part)
    reader.add(part)
  })
  const expected = sealWithHead(sealed, text)
  const found = reader.end()
  if (found === null || seal.length !== expected.length || !timingSafeEqual(seal, expected)) return unusable
  return new ExportIndex(head, found.entries, found.stretches)
}

function readHead(text: string): z.infer<typeof Head> | null {
  try {
    return Head.safeParse(JSON.parse(text)).data ?? null
  } catch {
    return null
  }
}

/** Reads the parts that `EntriesBuilder` makes. What they say is looked at with care: whether they are whole is known only at the end. */
class EntriesReader {
  readonly #digests: Buffer
  readonly #kinds: Uint8Array
  readonly #keyEnds: Int32Array
  // As much as they can have at most: memory that is not written to is not taken.
  readonly #keys: Buffer
  readonly #stretches = { firsts: new Numbers(), counts: new Bytes(), bytes: new Numbers(), digests: new Bytes() }
  readonly #addresses = new Bytes()
  #first = 0
  #keyEnd = 0
  #isDamaged = false

  /** `entries`: how many there are in all parts, which together have so many bytes at most. */
  constructor(entries: number, bytesAtMost: number) {
    this.#digests = Buffer.allocUnsafe(entries * digestBytes)
    this.#kinds = new Uint8Array(entries)
    this.#keyEnds = new Int32Array(entries)
    this.#keys = Buffer.allocUnsafe(bytesAtMost - entries * entryBytes)
  }

  add(part: Buffer): void {
    this.#isDamaged ||= part.length < countsBytes
    if (this.#isDamaged) return
    const first = this.#first
    const count = part.readUInt32LE(0)
    const ofStretches = part.readUInt32LE(4)
    const addressed = part.readUInt32LE(8)
    const kindsAt = countsBytes + count * digestBytes
    const lengthsAt = kindsAt + count
    const placesAt = lengthsAt + count * lengthBytes
    const stretchDigestsAt = placesAt + ofStretches * stretchBytes
    const addressesAt = stretchDigestsAt + ofStretches * digestBytes
    const keysAt = addressesAt + addressed * digestBytes
    this.#isDamaged = keysAt > part.length || first + count > this.#keyEnds.length
    if (this.#isDamaged) return
    part.copy(this.#digests, first * digestBytes, countsBytes, kindsAt)
    this.#kinds.set(part.subarray(kindsAt, lengthsAt), first)
    let keyEnd = this.#keyEnd
    for (let at = 0; at < count; at += 1) {
      keyEnd += part.readUInt16LE(lengthsAt + at * lengthBytes)
      this.#keyEnds[first + at] = keyEnd
    }
    this.#isDamaged = keyEnd - this.#keyEnd !== part.length - keysAt
    part.copy(this.#keys, this.#keyEnd, keysAt)
    const { firsts, counts, bytes, digests } = this.#stretches
    for (let place = placesAt; place < stretchDigestsAt; place += stretchBytes) {
      firsts.push(first + part.readUInt16LE(place))
      counts.push(part.readUInt8(place + 2))
      bytes.push(part.readUInt32LE(place + 3))
    }
    digests.add(part.subarray(stretchDigestsAt, addressesAt))
    if (addressed > 0) {
      this.#addresses.addZeros(first * digestBytes - this.#addresses.length)
      this.#addresses.add(part.subarray(addressesAt, keysAt))
    }
    this.#keyEnd = keyEnd
    this.#first = first + count
  }

  /** What was read; null if it is not what the parts were to have. */
  end(): { readonly entries: Entries; readonly stretches: Stretches } | null {
    if (this.#isDamaged || this.#first !== this.#keyEnds.length) return null
    const { firsts, counts, bytes, digests } = this.#stretches
    return {
      entries: {
        digests: this.#digests,
        kinds: this.#kinds,
        keys: this.#keys.subarray(0, this.#keyEnd),
        keyEnds: this.#keyEnds,
        addresses: this.#addresses.all,
      },
      stretches: { firsts: firsts.all, counts: counts.all, bytes: bytes.all, digests: digests.all },
    }
  }
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
