import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import {
  digestBytes,
  type Entries,
  ExportIndex,
  type IndexHead,
  type UnchangedRange,
  keyStart,
  kindsKept,
  type Stretches,
} from './export-index.ts'
import { Bytes, Numbers } from './growing.ts'

/** Raised whenever what an index holds, or what follows from it, is another thing than before. */
export const indexVersion = 3

const entriesInPart = 65_536

const Head = z.strictObject({
  version: z.literal(indexVersion),
  rules: z.string(),
  day: z.iso.date(),
  entries: z.int().min(0),
  kinds: z.array(z.int()).max(kindsKept),
  open: z.array(z.string()),
})

/** An index as it is kept, but for its parts. */
export type SealedIndex = { readonly head: string; readonly seal: Buffer }

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
  #stretches: UnchangedRange[] = []
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
  addStretch(stretch: UnchangedRange): void {
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
