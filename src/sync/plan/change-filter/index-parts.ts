import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import {
  digestBytes,
  type Entries,
  ExportIndex,
  type IndexHead,
  keyStart,
  maxKinds,
  type UnchangedRange,
  type UnchangedRanges,
} from './export-index.ts'
import { Bytes, Numbers } from './growing.ts'

/** Raised whenever the content of an index, or what follows from it, changes. */
export const indexVersion = 3

const entriesInPart = 65_536

const Head = z.strictObject({
  version: z.literal(indexVersion),
  rules: z.string(),
  day: z.iso.date(),
  entries: z.int().min(0),
  kinds: z.array(z.int()).max(maxKinds),
  open: z.array(z.string()),
})

/** An index as it is stored, without its parts: its head, and the signature of head and parts. */
export type SealedIndex = { readonly head: string; readonly seal: Buffer }

/**
 * Collects entries in the form in which they are kept. A part holds numbers of four bytes (how many entries, ranges and addresses), of
 * each entry its digest, its kind and the length of its key (2 bytes), of each range its first entry in the part (2), its length (1), its
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
  #ranges: UnchangedRange[] = []
  #addresses = Buffer.alloc(0)
  #addressed = 0
  readonly #addressesKept: number
  /** How many entries were added. */
  size = 0

  /** `addressesKept`: how many of the first entries keep their address. */
  constructor({ addressesKept }: { readonly addressesKept: number }) {
    this.#addressesKept = addressesKept
  }

  /** Adds `count` entries from `first` on. */
  add(entries: Entries, first: number, count: number): void {
    for (let from = first; from < first + count; ) {
      if (this.#count === entriesInPart) this.#close()
      const until = Math.min(first + count, from + entriesInPart - this.#count)
      this.#copy(entries, from, until)
      from = until
    }
  }

  /** Adds a range of entries that were added. Drops it if a part ends within it. */
  addRange(range: UnchangedRange): void {
    const firstOfPart = this.size - this.#count
    if (range.first >= firstOfPart) this.#ranges.push({ ...range, first: range.first - firstOfPart })
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
    const start = this.#count * digestBytes
    const end = start + (last - from) * digestBytes
    if (end > this.#addresses.length) this.#addresses = Buffer.concat([this.#addresses], 2 * end)
    addresses.copy(this.#addresses, start, from * digestBytes, last * digestBytes)
    this.#addressed = this.#count + last - from
  }

  #close(): void {
    const ranges = this.#ranges
    const counts = Buffer.alloc(countsBytes)
    counts.writeUInt32LE(this.#count)
    counts.writeUInt32LE(ranges.length, 4)
    counts.writeUInt32LE(this.#addressed, 8)
    const located = Buffer.alloc(ranges.length * rangeBytes)
    for (const [at, { first, records, bytes }] of ranges.entries()) {
      located.writeUInt16LE(first, at * rangeBytes)
      located.writeUInt8(records, at * rangeBytes + 2)
      located.writeUInt32LE(bytes, at * rangeBytes + 3)
    }
    this.#parts.push(
      Buffer.concat([
        counts,
        this.#digests.subarray(0, this.#count * digestBytes),
        this.#kinds.subarray(0, this.#count),
        this.#lengths.subarray(0, this.#count * lengthBytes),
        located,
        ...ranges.map(({ digest }) => digest),
        this.#addresses.subarray(0, this.#addressed * digestBytes),
        this.#keys.subarray(0, this.#keysUntil),
      ]),
    )
    this.#ranges = []
    this.#addresses = Buffer.alloc(0)
    this.#addressed = 0
    this.#count = 0
    this.#keysUntil = 0
  }
}

/** The sizes at the beginning of a part, and the location of a range. */
const countsBytes = 12
const rangeBytes = 7
/** The length of a key, and an entry without its key. */
const lengthBytes = 2
const entryBytes = digestBytes + 1 + lengthBytes

/** Seals an index, part by part in their order. Only an installation with the same key can make or check the seal. */
export function indexSealer(key: Buffer) {
  const sealed = createHmac('sha256', key)
  return {
    add(part: Buffer): void {
      sealed.update(part)
    },
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

const unusable = {
  reason: 'what the last export left behind is damaged, or another version or installation has made it',
}

/** A stored index. `eachPart` calls back with each part in order; together they have at most this many bytes. */
type StoredIndex = SealedIndex & {
  readonly bytesAtMost: number
  readonly eachPart: (onPart: (part: Buffer) => void) => Promise<void>
}

/** Opens a stored index. Returns why it cannot be used if it is damaged or was made by another version or installation. */
export async function openIndex(
  { head: text, seal, bytesAtMost: maxBytes, eachPart }: StoredIndex,
  key: Buffer,
): Promise<ExportIndex | { readonly reason: string }> {
  const parsed = readHead(text)
  if (parsed === null || parsed.entries * entryBytes > maxBytes) return unusable
  const { version: _, ...head } = parsed
  const reader = new EntriesReader(head.entries, maxBytes)
  const sealed = createHmac('sha256', key)
  await eachPart((part) => {
    sealed.update(part)
    reader.add(part)
  })
  const expected = sealWithHead(sealed, text)
  const read = reader.end()
  if (read === null || seal.length !== expected.length || !timingSafeEqual(seal, expected)) return unusable
  return new ExportIndex(head, read.entries, read.ranges)
}

function readHead(text: string): z.infer<typeof Head> | null {
  try {
    return Head.safeParse(JSON.parse(text)).data ?? null
  } catch {
    return null
  }
}

/** Reads the parts that `EntriesBuilder` makes. Trusts no number in them: whether they are intact is known only at the end. */
class EntriesReader {
  readonly #digests: Buffer
  readonly #kinds: Uint8Array
  readonly #keyEnds: Int32Array
  // The most that they can need: memory that is never written to costs nothing.
  readonly #keys: Buffer
  readonly #ranges = { firsts: new Numbers(), counts: new Bytes(), bytes: new Numbers(), digests: new Bytes() }
  readonly #addresses = new Bytes()
  #first = 0
  #keyEnd = 0
  #isDamaged = false

  /** `entries`: how many all parts have together, in at most `maxBytes` bytes. */
  constructor(entries: number, maxBytes: number) {
    this.#digests = Buffer.allocUnsafe(entries * digestBytes)
    this.#kinds = new Uint8Array(entries)
    this.#keyEnds = new Int32Array(entries)
    this.#keys = Buffer.allocUnsafe(maxBytes - entries * entryBytes)
  }

  add(part: Buffer): void {
    this.#isDamaged ||= part.length < countsBytes
    if (this.#isDamaged) return
    const first = this.#first
    const count = part.readUInt32LE(0)
    const rangeCount = part.readUInt32LE(4)
    const addressed = part.readUInt32LE(8)
    const kindsAt = countsBytes + count * digestBytes
    const lengthsAt = kindsAt + count
    const rangesAt = lengthsAt + count * lengthBytes
    const rangeDigestsAt = rangesAt + rangeCount * rangeBytes
    const addressesAt = rangeDigestsAt + rangeCount * digestBytes
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
    const { firsts, counts, bytes, digests } = this.#ranges
    for (let at = rangesAt; at < rangeDigestsAt; at += rangeBytes) {
      firsts.push(first + part.readUInt16LE(at))
      counts.push(part.readUInt8(at + 2))
      bytes.push(part.readUInt32LE(at + 3))
    }
    digests.add(part.subarray(rangeDigestsAt, addressesAt))
    if (addressed > 0) {
      this.#addresses.addZeros(first * digestBytes - this.#addresses.length)
      this.#addresses.add(part.subarray(addressesAt, keysAt))
    }
    this.#keyEnd = keyEnd
    this.#first = first + count
  }

  /** The entries and ranges; null if the parts are damaged or incomplete. */
  end(): { readonly entries: Entries; readonly ranges: UnchangedRanges } | null {
    if (this.#isDamaged || this.#first !== this.#keyEnds.length) return null
    const { firsts, counts, bytes, digests } = this.#ranges
    return {
      entries: {
        digests: this.#digests,
        kinds: this.#kinds,
        keys: this.#keys.subarray(0, this.#keyEnd),
        keyEnds: this.#keyEnds,
        addresses: this.#addresses.all,
      },
      ranges: { firsts: firsts.all, counts: counts.all, bytes: bytes.all, digests: digests.all },
    }
  }
}
