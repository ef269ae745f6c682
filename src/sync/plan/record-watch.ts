import { hash } from 'node:crypto'
import type { RecordFilter, SourceRow } from '../../connectors/connector.ts'
import type { PlanContext } from '../../identity/decide.ts'
import type { Decided, Decider, SettledPeople } from '../../identity/decider.ts'
import { compareKeys } from '../../identity/digest.ts'
import type { RowTraits } from '../../identity/lint/traits.ts'
import { readTraits } from '../../identity/lint/traits.ts'
import type { Sighting } from '../../identity/record.ts'
import { isSettled } from '../../identity/settled.ts'
import { digestBytes, EntriesBuilder, type ExportIndex, Kinds, type StoredIndex, sealIndex } from './export-index.ts'
import type { MappedRows } from './map-rows.ts'

type Mapped = Extract<MappedRows, { readonly ok: true }>

/** Why a reading that leaves records out cannot go on. The source is then read anew, and whole. */
export class IndexDoubt extends Error {
  override readonly name = 'IndexDoubt'
  /** Whether records can be told apart, so that the reading can leave an index behind. */
  readonly canBuild: boolean

  constructor(message: string, canBuild: boolean) {
    super(message)
    this.canBuild = canBuild
  }
}

/** What became of the entry of an index, if anything did: its record was left out, or a row of its person was read. */
const leftOut = 1
const met = 2

/** Stands in the order of records for one that is not kept. */
const notKept = -1

type Pending = { readonly digest: string; readonly known: number; readonly slot: number; traits?: RowTraits | null }

export type RecordWatch = ReturnType<typeof watchRecords>

/**
 * Looks at the records of an export before their cells are read, leaves out those of which the index says that nothing follows, and makes
 * the index for the next export. `index`: null where there is none to go by. `unsettled`: people about whom something happened since.
 */
export function watchRecords({
  index,
  unsettled,
  key,
  context,
}: {
  readonly index: ExportIndex | null
  readonly unsettled: readonly string[]
  readonly key: Buffer
  readonly context: PlanContext
}) {
  const size = index?.size ?? 0
  const state = new Uint8Array(size)
  const mustBeRead = new Uint8Array(size)
  const kinds = new Kinds(index?.head.kinds)
  const known = kinds.traits.map(readTraits)
  /** Whether records of a kind may be left out by now. */
  const spared = new Uint8Array(known.length)
  const times = new Map<RowTraits, number>()
  const order = new Numbers()
  const fresh = new FreshEntries()
  const freshKinds: number[] = []
  const open = new Set<string>()
  const withdrawn = new Set<string>()
  const pending = new Map<number, Pending>()
  let hashed = Buffer.concat([key], key.length + 1024)
  let leftOutHere: { readonly entry: number; readonly line: number }[] = []
  let flushed = 0
  let isOff = false
  let count = 0

  for (const identityId of unsettled) {
    const entry = index?.findKey(identityId) ?? -1
    if (entry >= 0) mustBeRead[entry] = 1
  }

  const filter: RecordFilter = {
    leavesOut(text, { start, end, line }) {
      if (isOff) return false
      const digest = digestOf(text, start, end)
      const entry = index?.find(digest) ?? -1
      const slot = order.length
      if (entry >= 0 && !mustBeRead[entry] && spared[index?.kindOf(entry) ?? 0] && state[entry] !== met) {
        if (state[entry] === leftOut) throw new IndexDoubt('a row stands in the export twice', true)
        state[entry] = leftOut
        order.push(entry)
        leftOutHere.push({ entry, line })
        return true
      }
      order.push(notKept)
      pending.set(line, { digest, known: entry, slot })
      return false
    },
    giveUp(goesOn) {
      if (!goesOn || count > 0 || leftOutHere.length > 0)
        throw new IndexDoubt('the records of the export cannot be told apart for certain', false)
      isOff = true
      pending.clear()
    },
  }

  const settled: SettledPeople = {
    has(identityId) {
      if (count === 0 && leftOutHere.length === 0) return false
      const entry = index?.findKey(identityId) ?? -1
      return entry >= 0 && state[entry] === leftOut
    },
    keyOf: (entry) => index?.keyOf(entry) ?? '',
  }

  function digestOf(text: Buffer, start: number, end: number): string {
    const length = key.length + end - start
    if (length > hashed.length) hashed = Buffer.concat([key], 2 * length)
    text.copy(hashed, key.length, start, end)
    return hash('sha256', hashed.subarray(0, length), 'latin1')
  }

  /** Keeps a row that was read, if nothing more follows from it. */
  function keeps(seen: Sighting): boolean {
    const found = pending.get(seen.origin.line)
    if (found?.traits === undefined || found.traits === null) return false
    const kind = kinds.of(found.traits)
    if (kind === null) return false
    const isSame =
      found.known >= 0 && index?.kindOf(found.known) === kind && index.keyOf(found.known) === seen.identityId
    order.set(found.slot, isSame ? found.known : size + fresh.add(found.digest, seen.identityId))
    if (!isSame) freshKinds.push(kind)
    return true
  }

  return {
    filter,
    settled,

    /** Names a person whose row was read. One whose record was left out stands in the export twice. */
    meet(identityId: string): void {
      const entry = index?.findKey(identityId) ?? -1
      if (entry < 0) return
      if (state[entry] === leftOut) throw new IndexDoubt('a key stands in the export twice', true)
      state[entry] = met
    },

    /** Keeps what a row that was read is to the checks. */
    note(row: SourceRow, sighting: Sighting, mapped: Mapped): void {
      const found = pending.get(row.origin.line)
      if (found) found.traits = mapped.traitsOf(row, sighting)
    },

    /** Passes on which employed people were left out before this line. */
    nameBefore(line: number, decider: Decider): void {
      for (; flushed < leftOutHere.length; flushed += 1) {
        const each = leftOutHere[flushed]
        if (each === undefined || each.line > line) return
        if (!known[index?.kindOf(each.entry) ?? 0]?.left) decider.nameSettled(each.entry)
      }
    },

    /** Ends a slice: what was left out is counted, and it is seen what may be left out of the next one. Answers how many it were. */
    endSlice(decider: Decider, mapped: Mapped): number {
      const here = leftOutHere.length
      if (here > 0) {
        this.nameBefore(Number.POSITIVE_INFINITY, decider)
        for (const { entry } of leftOutHere) {
          const traits = kinds.traits[index?.kindOf(entry) ?? 0] ?? 0
          times.set(traits, (times.get(traits) ?? 0) + 1)
        }
        mapped.spare(times, leftOutHere.at(-1)?.line ?? 0)
        decider.addSettled(here)
        count += here
        times.clear()
        leftOutHere = []
        flushed = 0
      }
      for (const [kind, traits] of kinds.traits.slice(0, spared.length).entries())
        if (!spared[kind] && mapped.spares(traits)) spared[kind] = 1
      return here
    },

    /** To be called once the people of a slice are decided about. */
    forgetSlice(): void {
      pending.clear()
    },

    withdraw(identityIds: readonly string[]): void {
      for (const identityId of identityIds) withdrawn.add(identityId)
    },

    decided(decided: Decided): void {
      const { identityId, seen } = decided
      const isKept = isSettled(decided, context) && (typeof seen === 'string' || keeps(seen))
      if (isKept) open.delete(identityId)
      else open.add(identityId)
    },

    /** The people without a usable row who have to be decided about, in the order of their keys; null: everybody. */
    unseen(decider: Decider): string[] | null {
      if (index === null) return null
      const keys = new Set([...index.head.open, ...unsettled, ...decider.namedInVain()])
      for (let entry = 0; entry < size; entry += 1) if (state[entry] !== leftOut) keys.add(index.keyOf(entry))
      return decider.unseen([...keys]).sort(compareKeys)
    },

    /** How many records were left out. */
    leftOut: () => count,

    /** The index that the export leaves behind; null where it cannot be made, or is the one that was there before. */
    made(rules: string): StoredIndex | 'same' | null {
      if (isOff) return null
      dropWithdrawn()
      const { today: day } = context
      const people = [...open].sort(compareKeys)
      if (index !== null && isSame(people)) return 'same'
      const entries = new EntriesBuilder()
      for (let at = 0; at < order.length; at += 1) {
        const entry = order.get(at)
        if (entry === notKept) continue
        if (entry < size) index?.copyTo(entry, entries, index.kindOf(entry))
        else entries.add({ ...fresh.get(entry - size), kind: freshKinds[entry - size] ?? 0 })
      }
      const head = { rules, day, entries: entries.size, kinds: kinds.traits, open: people }
      return sealIndex(head, entries.parts(), key)
    },
  }

  /** Rows that counted at first turned out not to. */
  function dropWithdrawn(): void {
    if (withdrawn.size === 0) return
    const before = new Set([...withdrawn].map((identityId) => index?.findKey(identityId) ?? -1))
    for (let at = 0; at < order.length; at += 1) {
      const entry = order.get(at)
      if (entry !== notKept && (entry < size ? before.has(entry) : withdrawn.has(fresh.keyOf(entry - size))))
        order.set(at, notKept)
    }
  }

  function isSame(people: readonly string[]): boolean {
    const before = index?.head.open ?? []
    if (people.length !== before.length || people.some((identityId, at) => identityId !== before[at])) return false
    let entry = 0
    for (let at = 0; at < order.length; at += 1) {
      const kept = order.get(at)
      if (kept === notKept) continue
      if (kept !== entry) return false
      entry += 1
    }
    return entry === size
  }
}

/** Digests and keys of rows that no index held. */
class FreshEntries {
  #digests = Buffer.allocUnsafe(1024 * digestBytes)
  #keys = Buffer.allocUnsafe(16 * 1024)
  readonly #ends = new Numbers()

  add(digest: string, identityId: string): number {
    const at = this.#ends.length
    const from = this.#end(at - 1)
    const bytes = Buffer.byteLength(identityId)
    if ((at + 1) * digestBytes > this.#digests.length)
      this.#digests = Buffer.concat([this.#digests], this.#digests.length * 2)
    if (from + bytes > this.#keys.length) this.#keys = Buffer.concat([this.#keys], this.#keys.length * 2 + bytes)
    this.#digests.write(digest.slice(0, digestBytes), at * digestBytes, 'latin1')
    this.#keys.write(identityId, from)
    this.#ends.push(from + bytes)
    return at
  }

  get(at: number): { readonly digest: Buffer; readonly key: Buffer } {
    return {
      digest: this.#digests.subarray(at * digestBytes, (at + 1) * digestBytes),
      key: this.#keys.subarray(this.#end(at - 1), this.#end(at)),
    }
  }

  keyOf(at: number): string {
    return this.get(at).key.toString('utf8')
  }

  #end(at: number): number {
    return at < 0 ? 0 : this.#ends.get(at)
  }
}

/** Whole numbers in four bytes each. */
class Numbers {
  #numbers = new Int32Array(1024)
  length = 0

  push(number: number): void {
    if (this.length === this.#numbers.length) {
      const larger = new Int32Array(2 * this.length)
      larger.set(this.#numbers)
      this.#numbers = larger
    }
    this.#numbers[this.length] = number
    this.length += 1
  }

  get(at: number): number {
    return this.#numbers[at] ?? 0
  }

  set(at: number, number: number): void {
    this.#numbers[at] = number
  }
}
