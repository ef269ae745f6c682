import { hash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RecordFilter, SourceRow } from '../../../connectors/connector.ts'
import type { PlanContext } from '../../../identity/decide/decide.ts'
import type { Decider } from '../../../identity/decide/decider.ts'
import type { Decided } from '../../../identity/decide/decisions.ts'
import type { SettledPeople } from '../../../identity/decide/row-book.ts'
import { isSettled } from '../../../identity/decide/settled.ts'
import { compareKeys } from '../../../identity/digest.ts'
import type { RowTraits } from '../../../identity/lint/traits.ts'
import { readTraits } from '../../../identity/lint/traits.ts'
import type { Sighting } from '../../../identity/record.ts'
import type { MappedRows } from '../map/map-rows.ts'
import { digestBytes, type Entries, type ExportIndex, isDigestAt, Kinds, keyAt } from './export-index.ts'
import { Bytes, Numbers } from './growing.ts'
import { EntriesBuilder, indexSealer, type SealedIndex } from './index-parts.ts'
import { StretchMaker } from './stretches.ts'

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

/** So many entries are copied without a pause. */
const keptAtOnce = 50_000

/** Stands in the order of records for one that is not kept. */
const notKept = -1

/** Addresses are known of more records than tell enough, by this share: some of them are read again each night. */
const moreAddresses = 1.25

type Pending = {
  readonly digest: string
  readonly known: number
  readonly slot: number
  traits?: RowTraits | null
  address?: string | null
}

export type RecordWatch = ReturnType<typeof watchRecords>

/**
 * Looks at the records of an export before their cells are read, leaves out those of which the index says that nothing follows, and makes
 * the index for the next export. `index`: null where there is none to go by. `unsettled`: people about whom something happened since.
 * `telling`: how many people tell checks enough about how the export is made.
 */
export function watchRecords({
  index,
  unsettled,
  key,
  context,
  telling,
}: {
  readonly index: ExportIndex | null
  readonly unsettled: readonly string[]
  readonly key: Buffer
  readonly context: PlanContext
  readonly telling: number
}) {
  const size = index?.size ?? 0
  const state = new Uint8Array(size)
  const mustBeRead = new Uint8Array(size)
  const kinds = new Kinds(index?.head.kinds)
  const known = kinds.traits.map(readTraits)
  /** Whether records of a kind may be left out by now: any of them, or those of which the address is known. */
  const spared = new Uint8Array(known.length)
  const sparedByAddress = new Uint8Array(known.length)
  const addressesKept = Math.ceil(moreAddresses * telling)
  /** The different addresses of records that were left out, until they tell enough. */
  const addresses = new Set<string>()
  const order = new Numbers()
  const fresh = new FreshEntries()
  const stretches = new StretchMaker(digestOf)
  const open = new Set<string>()
  const withdrawn = new Set<string>()
  /** The records of the slice that is read, by their lines, and those of the slice whose people are decided about. */
  let pending = new Map<number, Pending>()
  let deciding = pending
  let hashed = Buffer.concat([key], key.length + 1024)
  /** What was left out of this slice, in which lines it stands, and how many of each kind. */
  const leftOutHere = { entries: new Numbers(), lines: new Numbers(), times: new Uint32Array(spared.length) }
  let named = 0
  let isOff = false
  let count = 0

  for (const identityId of unsettled) {
    const entry = index?.findKey(identityId) ?? -1
    if (entry >= 0) mustBeRead[entry] = 1
  }

  const filter: RecordFilter = {
    leavesOutStretch(text, start, line) {
      const stretch = isOff ? null : (index?.expectedStretch() ?? null)
      if (index === null || stretch === null || text.length - start < stretch.bytes) return null
      const { first, records, bytes, digest } = stretch
      for (let entry = first; entry < first + records; entry += 1) if (!mayLeaveOut(entry)) return null
      if (!isDigestAt(digest, 0, digestOf(text, start, start + bytes))) return null
      index.passStretch(stretch)
      stretches.pass(stretch, order.length)
      for (let at = 0; at < records; at += 1) leaveOut(first + at, line + at)
      return stretch
    },
    leavesOut(record) {
      if (isOff) return false
      const { text, start, end, line } = record
      const digest = digestOf(text, start, end)
      const entry = index?.find(digest) ?? -1
      const slot = order.length
      stretches.add(record, slot, digest)
      if (entry >= 0 && mayLeaveOut(entry)) {
        leaveOut(entry, line)
        return true
      }
      order.push(notKept)
      pending.set(line, { digest, known: entry, slot })
      return false
    },
    giveUp(goesOn) {
      if (!goesOn || count > 0 || leftOutHere.entries.length > 0)
        throw new IndexDoubt('the records of the export cannot be told apart for certain', false)
      isOff = true
      pending.clear()
    },
  }

  const settled: SettledPeople = {
    has(identityId) {
      if (count === 0 && leftOutHere.entries.length === 0) return false
      const entry = index?.findKey(identityId) ?? -1
      return entry >= 0 && state[entry] === leftOut
    },
    keyOf: (entry) => index?.keyOf(entry) ?? '',
  }

  function mayLeaveOut(entry: number): boolean {
    if (state[entry] !== 0 || mustBeRead[entry] !== 0) return false
    const kind = index?.kindOf(entry) ?? 0
    if (spared[kind] === 1) return true
    return sparedByAddress[kind] === 1 && (addresses.size >= telling || addressOf(entry) !== null)
  }

  function addressOf(entry: number): string | null {
    return index?.addressOf(entry) ?? null
  }

  function leaveOut(entry: number, line: number): void {
    state[entry] = leftOut
    const address = addresses.size < telling ? addressOf(entry) : null
    if (address !== null) addresses.add(address)
    order.push(entry)
    leftOutHere.entries.push(entry)
    leftOutHere.lines.push(line)
    const kind = index?.kindOf(entry) ?? 0
    leftOutHere.times[kind] = (leftOutHere.times[kind] ?? 0) + 1
  }

  function digestOf(text: Buffer, start: number, end: number): string {
    const length = key.length + end - start
    if (length > hashed.length) hashed = Buffer.concat([key], 2 * length)
    text.copy(hashed, key.length, start, end)
    return hash('sha256', hashed.subarray(0, length), 'latin1')
  }

  /** Keeps a row that was read, if nothing more follows from it. */
  function keeps(seen: Sighting): boolean {
    const found = deciding.get(seen.origin.line)
    if (found?.traits === undefined || found.traits === null) return false
    const kind = kinds.of(found.traits)
    if (kind === null) return false
    const address = found.address ?? null
    const isSame =
      found.known >= 0 &&
      index?.kindOf(found.known) === kind &&
      index.keyOf(found.known) === seen.identityId &&
      (address === null || index.addressOf(found.known) === address)
    const entry = isSame ? found.known : size + fresh.add({ ...found, kind, identityId: seen.identityId, address })
    order.set(found.slot, entry)
    return true
  }

  return {
    filter,
    settled,

    /** Names the person of a row that was read. One whose record was left out stands in the export twice. */
    meet(identityId: string, line: number): void {
      const known = pending.get(line)?.known ?? -1
      const isTheirs = known >= 0 && index?.keyOf(known) === identityId
      const entry = isTheirs ? known : (index?.findKey(identityId) ?? -1)
      if (entry < 0) return
      if (state[entry] === leftOut) throw new IndexDoubt('a key stands in the export twice', true)
      state[entry] = met
    },

    /** Keeps what a row that was read is to the checks. */
    note(row: SourceRow, sighting: Sighting, mapped: Mapped): void {
      const found = pending.get(row.origin.line)
      if (found === undefined) return
      found.traits = mapped.traitsOf(row, sighting)
      if (found.slot < addressesKept) found.address = mapped.addressOf(sighting)
    },

    /** Passes on who was left out before this line: to the decider those who are employed. */
    nameBefore(line: number, decider: Decider, mapped: Mapped): void {
      const { entries, lines } = leftOutHere
      let wantsEach = mapped.wantsEach()
      for (; named < entries.length && lines.get(named) <= line; named += 1) {
        const entry = entries.get(named)
        const kind = index?.kindOf(entry) ?? 0
        if (!known[kind]?.left) decider.book.nameSettled(entry)
        if (!wantsEach) continue
        mapped.spareOne(kinds.traits[kind] ?? 0, { line: lines.get(named), address: addressOf(entry) })
        wantsEach = mapped.wantsEach()
      }
    },

    /**
     * Ends a slice: what was left out is counted, and it is seen what may be left out of the next one. The people of the slice are decided
     * about before the next one ends. Answers how many were left out.
     */
    endSlice(decider: Decider, mapped: Mapped): number {
      const { entries, lines, times } = leftOutHere
      const here = entries.length
      if (here > 0) {
        this.nameBefore(Number.POSITIVE_INFINITY, decider, mapped)
        const timesOf = new Map(kinds.traits.flatMap((traits, kind) => (times[kind] ? [[traits, times[kind]]] : [])))
        mapped.spare(timesOf, lines.get(here - 1))
        decider.addSettled(here)
        count += here
        entries.clear()
        lines.clear()
        times.fill(0)
        named = 0
      }
      for (const [kind, traits] of kinds.traits.slice(0, spared.length).entries()) {
        if (!spared[kind] && mapped.spares(traits, false)) spared[kind] = 1
        if (!sparedByAddress[kind] && mapped.spares(traits, true)) sparedByAddress[kind] = 1
      }
      deciding = pending
      pending = new Map()
      return here
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
      const keys = new Set([...index.head.open, ...unsettled, ...decider.book.namedInVain()])
      for (let entry = 0; entry < size; entry += 1) if (state[entry] !== leftOut) keys.add(index.keyOf(entry))
      return decider.book.unseen([...keys]).sort(compareKeys)
    },

    /** How many records were left out. */
    leftOut: () => count,

    /**
     * The index that the export leaves behind, whose parts are given to `keep` one after the other, each while the next one is made. `same`: the
     * one that was there before. null: it cannot be made.
     */
    async made(
      rules: string,
      keep: (part: number, data: Buffer) => Promise<void>,
    ): Promise<SealedIndex | 'same' | null> {
      if (isOff) return null
      dropWithdrawn()
      const { today: day } = context
      const people = [...open].sort(compareKeys)
      if (index !== null && isSame(people)) return 'same'
      const sealer = indexSealer(key)
      let parts = 0
      let keeping = Promise.resolve()
      const entries = await entriesKept(async (full) => {
        for (const data of full) {
          sealer.add(data)
          await keeping
          keeping = keep(parts, data)
          // What it fails with shows where it is waited for.
          keeping.catch(() => {})
          parts += 1
        }
      })
      await keeping
      return sealer.seal({ rules, day, entries, kinds: kinds.traits, open: people })
    },
  }

  /**
   * Copies what is kept, as much at once as stands together, with the stretches that are kept whole. Other work gets its turn now and
   * then. Answers how many there are.
   */
  async function entriesKept(keepParts: (full: readonly Buffer[]) => Promise<void>): Promise<number> {
    const built = new EntriesBuilder({ addressesKept })
    const freshEntries = fresh.all()
    let first = 0
    let together = 0
    let kept = 0
    let pausedAt = 0
    const copy = () => {
      if (together === 0) return
      if (index !== null && first < size) built.add(index.entries, first, together)
      else built.add(freshEntries, first - size, together)
      together = 0
    }
    const keepUntil = (slot: number): void => {
      for (; kept < slot; kept += 1) {
        const entry = order.get(kept)
        if (entry === notKept) continue
        if (together > 0 && entry === first + together && entry !== size) together += 1
        else {
          copy()
          first = entry
          together = 1
        }
      }
      copy()
    }
    for (const stretch of stretches.found()) {
      keepUntil(stretch.first)
      const before = built.size
      keepUntil(stretch.first + stretch.records)
      if (built.size - before === stretch.records) built.addStretch({ ...stretch, first: before })
      if (kept - pausedAt < keptAtOnce) continue
      pausedAt = kept
      await nextTurn()
      await keepParts(built.takeParts())
    }
    keepUntil(order.length)
    await keepParts(built.end())
    return built.size
  }

  /** Rows that counted at first turned out not to. */
  function dropWithdrawn(): void {
    if (withdrawn.size === 0) return
    const before = new Set([...withdrawn].map((identityId) => index?.findKey(identityId) ?? -1))
    const since = fresh.all()
    for (let at = 0; at < order.length; at += 1) {
      const entry = order.get(at)
      if (entry !== notKept && (entry < size ? before.has(entry) : withdrawn.has(keyAt(since, entry - size))))
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

/** Entries of rows that no index held. */
class FreshEntries {
  readonly #digests = new Bytes()
  readonly #kinds = new Bytes()
  readonly #keys = new Bytes()
  readonly #keyEnds = new Numbers()
  readonly #addresses = new Bytes()

  add({
    digest,
    kind,
    identityId,
    address,
  }: {
    readonly digest: string
    readonly kind: number
    readonly identityId: string
    readonly address: string | null
  }): number {
    if (address !== null) {
      this.#addresses.addZeros(this.#keyEnds.length * digestBytes - this.#addresses.length)
      this.#addresses.addText(address, 'latin1')
    }
    this.#digests.addText(digest.slice(0, digestBytes), 'latin1')
    this.#kinds.push(kind)
    this.#keys.addText(identityId, 'utf8')
    this.#keyEnds.push(this.#keys.length)
    return this.#keyEnds.length - 1
  }

  all(): Entries {
    return {
      digests: this.#digests.all,
      kinds: this.#kinds.all,
      keys: this.#keys.all,
      keyEnds: this.#keyEnds.all,
      addresses: this.#addresses.all,
    }
  }
}
