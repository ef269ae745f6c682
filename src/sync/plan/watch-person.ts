import type { SourceRow } from '../../connectors/connector.ts'
import { Failure } from '../../errors.ts'
import type { PersonInput } from '../../identity/decide/decide.ts'
import type { ExplainedDecision } from '../../identity/decide/explain.ts'
import type { PlannedPerson } from '../../identity/decide/planned.ts'
import { fingerprint } from '../../identity/digest.ts'
import { type RowAccount, rowAccount } from '../../identity/mapping/row-account.ts'
import { isReject } from '../../identity/mapping/rows.ts'
import type { Reject, RosterEntry, Observation } from '../../identity/record.ts'
import type { RequestedPerson } from '../../store/schema.ts'
import type { MappedRows, OutOfScope } from './map/map-rows.ts'

/** So many rows of one person are accounted for. */
const rowsKept = 20

export type PersonWatch = ReturnType<typeof watchPerson>

/** Who is asked for by this text. Only a digest of an e-mail address is kept, as it is a personal value. A key is none. */
export function requestedPerson(text: string): RequestedPerson {
  return { digest: addressDigest(text), ...(!text.includes('@') && { identityId: text }) }
}

/** Tells whether an e-mail address is the one that was asked for. */
export function emailTest({ digest }: RequestedPerson): (email: string) => boolean {
  return (email) => addressDigest(email) === digest
}

/** What an address is asked for by, so that it need not be kept. */
function addressDigest(email: string): string {
  return fingerprint('person', email.toLowerCase())
}

/**
 * Looks out for one person in rows that stream by, by key or by the digest of an e-mail address. `known`: the keys of the people who
 * have this address as far as is known. `isLater`: whether a row takes effect on a later day. Of all other people nothing is decided.
 */
export function watchPerson(
  asked: RequestedPerson,
  { known, isLater }: { readonly known: readonly string[]; readonly isLater: (told: Observation) => boolean },
) {
  const keys = new Map<string, number | null>(
    asked.identityId === undefined ? known.map((key) => [key, null]) : [[asked.identityId, null]],
  )
  const rows: RowAccount[] = []
  const rejects: Reject[] = []
  let alike: { readonly key: string; readonly line: number } | null = null
  let named = 0
  let later = 0
  let decided: ExplainedDecision | null = null

  function see(row: SourceRow, told: Observation | Reject, mapping: Extract<MappedRows, { ok: true }>): void {
    const { identityId } = told
    if (identityId === null) return
    if (asked.identityId === undefined && isMeant(told)) keys.set(identityId, keys.get(identityId) ?? row.origin.line)
    else if (asked.identityId !== undefined && identityId !== asked.identityId && alike === null) {
      if (foldKey(identityId) === foldKey(asked.identityId)) alike = { key: identityId, line: row.origin.line }
    }
    if (!keys.has(identityId)) return
    named++
    if (isReject(told)) rejects.push(told)
    else rejects.push(...(told.badCells ?? []))
    const waits = !isReject(told) && isLater(told)
    if (waits) later++
    if (rows.length >= rowsKept) return
    const account = rowAccount(row.origin, told, mapping.cellsOf(row))
    rows.push(
      waits ? { ...account, reason: `it takes effect on ${told.effectiveOn}, and waits for that day` } : account,
    )
  }

  /** A row that is not in scope is shown with the others of the person, and is no reject. */
  function seeOutside(row: SourceRow, { identityId }: OutOfScope, mapping: Extract<MappedRows, { ok: true }>): void {
    if (identityId === null || !keys.has(identityId)) return
    named++
    if (rows.length >= rowsKept) return
    const cells = mapping.cellsOf(row).map(({ name, column, text }) => ({
      ...{ column, field: name, text: text ?? null },
      ...{ value: null, keeps: false, reason: null },
    }))
    rows.push({ origin: row.origin, cells, reason: 'the row is not in scope' })
  }

  function isMeant(told: Observation | Reject): boolean {
    const { identityId } = told
    if (identityId?.includes('@') && addressDigest(identityId) === asked.digest) return true
    const email = isReject(told) ? null : told.fields.email
    return typeof email === 'string' && addressDigest(email) === asked.digest
  }

  return {
    rows: rows as readonly RowAccount[],
    /** What cannot be read of the person's own rows. */
    rejects: rejects as readonly Reject[],
    /** How many rows name the person. */
    named: () => named,
    /** Whether rows name the person, and each of them takes effect on a later day. */
    waits: () => later > 0 && later === named,
    /** What was decided about the person; null where nothing was. */
    decided: () => decided,

    /** The same rows, looked over for the person. */
    watched(mapping: MappedRows): MappedRows {
      if (!mapping.ok) return mapping
      return {
        ...mapping,
        map(row) {
          const told = mapping.map(row)
          if (told !== null && 'outOfScope' in told) seeOutside(row, told, mapping)
          else if (told !== null && !('noPerson' in told)) see(row, told, mapping)
          return told
        },
      }
    },

    isAsked: (identityId: string): boolean => keys.has(identityId),
    keys: (): string[] => [...keys.keys()],

    /** The key that is meant, once all rows were seen. Fails where none is, or several are. */
    key(source: string): string {
      const [first, ...others] = keys.keys()
      if (first !== undefined && others.length === 0) return first
      if (first === undefined)
        throw new Failure(
          'not_found',
          `no row of ${source} holds the e-mail address that was asked for, and no one is known by it: name the key`,
        )
      const places = [...keys].map(([key, line]) =>
        line === null ? `${key} (as known)` : `${key} (${source}:${line})`,
      )
      throw new Failure(
        'usage',
        `the e-mail address that was asked for is that of ${keys.size} people: ${places.join(', ')}. Name the key of one of them`,
      )
    },

    /** What helps a person who asked for a key that stands nowhere. */
    alike: (source: string): string =>
      alike === null ? '' : `; the key "${alike.key}" in ${source}:${alike.line} is spelled alike`,

    /** What was decided about these people no longer counts. */
    forget(identityIds: readonly string[]): void {
      if (identityIds.some((key) => keys.has(key))) decided = null
    },

    /**
     * Takes what was decided. The absences of the person stay as they were, and an absence that is not enough to leave is no fact of
     * this run, so that the runs that read the source for all people count as they would have.
     */
    take(
      people: readonly PlannedPerson[],
      of: { entry: RosterEntry | undefined; input: PersonInput },
    ): PlannedPerson[] {
      decided = { ...of, desiredState: people[0]?.entry ?? null, change: people[0]?.change ?? null }
      return people.flatMap((person) => {
        const counts = person.change !== null || of.input !== 'absent'
        const entry = person.entry && counts ? { ...person.entry, absences: of.entry?.absences ?? 0 } : null
        return entry || person.change ? [{ ...person, entry }] : []
      })
    },
  }
}

/** Spreadsheets take leading zeros away, and people mix up case and signs. */
function foldKey(key: string): string {
  return key
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '')
    .replace(/^0+/, '')
}
