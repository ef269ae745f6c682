import type { SourceRow } from '../../connectors/connector.ts'
import { Failure } from '../../errors.ts'
import type { PersonInput, PlanContext } from '../../identity/decide/decide.ts'
import type { ExplainedDecision } from '../../identity/decide/explain.ts'
import type { PlannedPerson } from '../../identity/decide/planned.ts'
import { isLater } from '../../identity/decide/row-book.ts'
import { fingerprint } from '../../identity/digest.ts'
import { type RowAccount, rowAccount } from '../../identity/mapping/row-account.ts'
import { isReject } from '../../identity/mapping/rows.ts'
import type { Observation, Reject, RosterEntry } from '../../identity/record.ts'
import type { RequestedPerson } from '../../store/schema.ts'
import type { MappedRow, OutOfScope, ReadableRows } from './map/map-rows.ts'

/** Maximum number of rows of the person that are reported. */
const maxRows = 20

/** The person whom a text names, by key or e-mail address. An address is personal, so only its digest is kept. */
export function requestedPerson(text: string): RequestedPerson {
  const digest = addressDigest(text)
  return text.includes('@') ? { digest } : { digest, identityId: text }
}

/** Returns a test for the requested e-mail address. */
export function emailTest({ digest }: RequestedPerson): (email: string) => boolean {
  return (email) => addressDigest(email) === digest
}

function addressDigest(email: string): string {
  return fingerprint('person', email.toLowerCase())
}

type PersonWatchInput = {
  readonly requested: RequestedPerson
  /** The keys of people who are known to have the requested address. */
  readonly knownKeys: readonly string[]
  readonly context: PlanContext
}

/** Finds the requested person in the rows of a source, by key or e-mail address, and collects what is decided about them. */
export class PersonWatch {
  readonly #requested: RequestedPerson
  readonly #context: PlanContext
  /** The keys that may be meant, each with the line that names it; null for a key that is known. */
  readonly #keys: Map<string, number | null>
  readonly #rows: RowAccount[] = []
  readonly #rejects: Reject[] = []
  /** The first key that differs from the requested one only by case, signs or leading zeros. */
  #similar: { readonly key: string; readonly line: number } | null = null
  #rowCount = 0
  #laterCount = 0
  #decision: ExplainedDecision | null = null

  constructor({ requested, knownKeys, context }: PersonWatchInput) {
    const { identityId } = requested
    this.#requested = requested
    this.#context = context
    this.#keys = new Map((identityId === undefined ? knownKeys : [identityId]).map((key) => [key, null]))
  }

  /** The rows that name the person, the first ones only. */
  get rows(): readonly RowAccount[] {
    return this.#rows
  }

  /** The rows and cells of the person that cannot be read. */
  get rejects(): readonly Reject[] {
    return this.#rejects
  }

  /** How many rows name the person. */
  get rowCount(): number {
    return this.#rowCount
  }

  /** Whether rows name the person, and each of them takes effect on a later day. */
  get isWaiting(): boolean {
    return this.#laterCount > 0 && this.#laterCount === this.#rowCount
  }

  /** What was decided about the person; null if nothing was. */
  get decision(): ExplainedDecision | null {
    return this.#decision
  }

  /** The keys that may be meant. */
  get keys(): string[] {
    return [...this.#keys.keys()]
  }

  /** Whether this key may be meant. */
  isRequested(identityId: string): boolean {
    return this.#keys.has(identityId)
  }

  /** Looks at a mapped row. */
  addRow(row: SourceRow, mapped: MappedRow, mapping: ReadableRows): void {
    if (mapped === null || 'noPerson' in mapped) return
    if ('outOfScope' in mapped) this.#addOutOfScope(row, mapped, mapping)
    else this.#addRow(row, mapped, mapping)
  }

  /** The key that is meant, once all rows were read. Fails if no person, or several people, have the address. */
  requireKey(source: string): string {
    const [first, ...others] = this.#keys.keys()
    if (first !== undefined && others.length === 0) return first
    if (first === undefined)
      throw new Failure(
        'not_found',
        `no row of ${source} holds the e-mail address that was asked for, and no one is known by it: name the key`,
      )
    const keys = [...this.#keys].map(([key, line]) =>
      line === null ? `${key} (as known)` : `${key} (${source}:${line})`,
    )
    throw new Failure(
      'usage',
      `the e-mail address that was asked for is that of ${this.#keys.size} people: ${keys.join(', ')}. Name the key of one of them`,
    )
  }

  /** A hint for somebody who requested a key that no row has; empty if there is none. */
  similarKey(source: string): string {
    if (this.#similar === null) return ''
    return `; the key "${this.#similar.key}" in ${source}:${this.#similar.line} is spelled alike`
  }

  /** Forgets the decision about the person if their rows turned out not to apply. */
  withdraw(identityIds: readonly string[]): void {
    if (identityIds.some((key) => this.#keys.has(key))) this.#decision = null
  }

  /**
   * Records a decision about the person and returns what to stage of it. The person's absences stay as they were, and an absence that is not
   * enough to leave is not staged, so that runs which read the source for everybody count as if this run had not been.
   */
  addDecision(planned: readonly PlannedPerson[], { entry, input }: DecidedFrom): PlannedPerson[] {
    this.#decision = { entry, input, desiredState: planned[0]?.entry ?? null, change: planned[0]?.change ?? null }
    return planned.flatMap((person) => {
      const isFact = person.change !== null || input !== 'absent'
      const staged = person.entry && isFact ? { ...person.entry, absences: entry?.absences ?? 0 } : null
      return staged || person.change ? [{ ...person, entry: staged }] : []
    })
  }

  #addRow(row: SourceRow, mapped: Observation | Reject, mapping: ReadableRows): void {
    const { identityId } = mapped
    if (identityId === null) return
    this.#matchKey(identityId, mapped, row.origin.line)
    if (!this.#keys.has(identityId)) return
    this.#rowCount++
    this.#rejects.push(...(isReject(mapped) ? [mapped] : (mapped.badCells ?? [])))
    const isWaiting = !isReject(mapped) && isLater(mapped, this.#context)
    if (isWaiting) this.#laterCount++
    if (this.#rows.length >= maxRows) return
    const account = rowAccount(row.origin, mapped, mapping.cellsOf(row))
    const reason = isWaiting ? `it takes effect on ${mapped.effectiveOn}, and waits for that day` : account.reason
    this.#rows.push({ ...account, reason })
  }

  /** Adds the key of a row with the requested address, or remembers a key that is similar to the requested one. */
  #matchKey(identityId: string, mapped: Observation | Reject, line: number): void {
    const { identityId: requestedKey } = this.#requested
    if (requestedKey === undefined) {
      if (this.#hasAddress(mapped)) this.#keys.set(identityId, this.#keys.get(identityId) ?? line)
    } else if (identityId !== requestedKey && foldKey(identityId) === foldKey(requestedKey)) {
      this.#similar ??= { key: identityId, line }
    }
  }

  #hasAddress(mapped: Observation | Reject): boolean {
    const { identityId } = mapped
    const { digest } = this.#requested
    if (identityId?.includes('@') && addressDigest(identityId) === digest) return true
    const email = isReject(mapped) ? null : mapped.fields.email
    return typeof email === 'string' && addressDigest(email) === digest
  }

  /** A row that is not in scope is reported with the others of the person. It is not a reject. */
  #addOutOfScope(row: SourceRow, { identityId }: OutOfScope, mapping: ReadableRows): void {
    if (identityId === null || !this.#keys.has(identityId)) return
    this.#rowCount++
    if (this.#rows.length >= maxRows) return
    const cells = mapping.cellsOf(row).map(({ name, column, text }) => ({
      column,
      field: name,
      text: text ?? null,
      value: null,
      keeps: false,
      reason: null,
    }))
    this.#rows.push({ origin: row.origin, cells, reason: 'the row is not in scope' })
  }
}

/** What a decision was made from. */
type DecidedFrom = { readonly entry: RosterEntry | undefined; readonly input: PersonInput }

/** Removes what differs between spellings of one key: spreadsheets drop leading zeros, and people mix up case and signs. */
function foldKey(key: string): string {
  return key
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '')
    .replace(/^0+/, '')
}
