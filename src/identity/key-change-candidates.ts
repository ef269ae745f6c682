import { fingerprint } from './digest.ts'
import type { IdentityRecord, Observation, Reject } from './record.ts'

/** Two keys of one run that look like one person: the old one is missing or stated as left, the other is new. */
export type KeyChangeCandidate = {
  /** The old key. */
  readonly former: string
  readonly identityId: string
  /** What both have in common: the e-mail address, the full name with the start date, or both. */
  readonly by: 'email' | 'name' | 'both'
  /** True: the pair is unambiguous. False: one of the keys is in another candidate too, or several people share the trait. */
  readonly clear: boolean
}

/** What an alias (a key that HR uses now) stands for: the key under which the platform has the person. */
export type Alias = {
  readonly identityId: string
  /** The position of the key among the keys of the person, in the order of issue. The first alias has 1. */
  readonly order: number
}

/** The answers of operators about keys: aliases of people, and pairs of keys that are two people. */
export type KeyAnswers = {
  readonly aliases: ReadonlyMap<string, Alias>
  /** Pairs of keys, by `candidateName`. */
  readonly differentPeople: ReadonlySet<string>
}

/** No answers. */
export const noAnswers: KeyAnswers = { aliases: new Map(), differentPeople: new Set() }

/** Identifies a pair of keys in a set. It is JSON, as a key may hold any character. */
export function candidateName({ former, identityId }: Pick<KeyChangeCandidate, 'former' | 'identityId'>): string {
  return JSON.stringify([former, identityId])
}

/** Replaces aliases in a row: that of its person, and that of the manager. A reject names no manager. */
export function resolveAlias(row: Observation, aliases: KeyAnswers['aliases']): Observation
export function resolveAlias(row: Observation | Reject, aliases: KeyAnswers['aliases']): Observation | Reject
export function resolveAlias(row: Observation | Reject, aliases: KeyAnswers['aliases']): Observation | Reject {
  if (aliases.size === 0) return row
  const alias = row.identityId === null ? undefined : aliases.get(row.identityId)
  if ('reason' in row) return alias ? { ...row, identityId: alias.identityId } : row
  const manager = aliases.get(row.fields.managerId ?? '')
  if (!alias && !manager) return row
  const resolved: { -readonly [K in keyof Observation]: Observation[K] } = { ...row }
  if (alias) {
    resolved.identityId = alias.identityId
    resolved.keyOrder = alias.order
  }
  if (manager) resolved.fields = { ...row.fields, managerId: manager.identityId }
  return resolved
}

/** Digests that identify a person under another key; null if too little is known. */
type Traits = { readonly email: string | null; readonly name: string | null }

type People = ReadonlyMap<string, Traits>
type Match = Omit<KeyChangeCandidate, 'by'>

/**
 * Matches people who are gone with people who are new. Keeps two digests of each of them, and nothing of people who stay.
 * `differentPeople`: pairs that are two people, by `candidateName`.
 */
export function matchKeys(differentPeople: ReadonlySet<string>) {
  const joiners = new Map<string, Traits>()
  const leavers = new Map<string, Traits>()
  /** The traits of joiners, collected once there are no more rows. */
  let traitsOfJoiners: ReadonlySet<string> | null = null

  return {
    /** Adds a person who is new. */
    addJoiner(identityId: string, record: IdentityRecord): void {
      joiners.set(identityId, traitsOf(record))
    },
    /** Adds a person whose row states a departure. */
    addLeaver(identityId: string, record: IdentityRecord): void {
      leavers.set(identityId, traitsOf(record))
    },
    /** Adds a person without a row, after the last row. There may be many, so only those who match a joiner are kept. */
    addAbsent(identityId: string, record: IdentityRecord): void {
      if (joiners.size === 0) return
      traitsOfJoiners ??= new Set([...joiners.values()].flatMap(knownTraits))
      const traits = traitsOf(record)
      if (knownTraits(traits).some((trait) => traitsOfJoiners?.has(trait))) leavers.set(identityId, traits)
    },
    /** Forgets a person whose row turned out not to apply. */
    forget(identityId: string): void {
      joiners.delete(identityId)
      leavers.delete(identityId)
    },
    /** The candidates, without pairs that an operator answered with "two people", sorted by their old keys. */
    candidates: (): KeyChangeCandidate[] =>
      clearIfOnly(combineMatches(leavers, joiners, differentPeople)).sort((a, b) =>
        candidateName(a) < candidateName(b) ? -1 : 1,
      ),
  }
}

function combineMatches(leavers: People, joiners: People, differentPeople: ReadonlySet<string>): KeyChangeCandidate[] {
  const byName = new Map<string, KeyChangeCandidate>()
  const add = (by: 'email' | 'name', matched: Iterable<Match>) => {
    for (const { former, identityId, clear } of matched) {
      const name = candidateName({ former, identityId })
      if (differentPeople.has(name)) continue
      const before = byName.get(name)
      byName.set(name, { former, identityId, by: before ? 'both' : by, clear: clear || (before?.clear ?? false) })
    }
  }
  // A mailbox that several people of both sides share identifies nobody. A name with its start date does.
  add('email', matches(leavers, joiners, { trait: 'email', pairsSeveral: false }))
  add('name', matches(leavers, joiners, { trait: 'name', pairsSeveral: true }))
  return [...byName.values()]
}

/** A candidate stays clear only if neither of its keys is in another candidate. */
function clearIfOnly(candidates: readonly KeyChangeCandidate[]): KeyChangeCandidate[] {
  const sides = candidates.flatMap(({ former, identityId }) => [`-${former}`, `+${identityId}`])
  const bySide = Map.groupBy(sides, (side) => side)
  const isOnly = (side: string) => bySide.get(side)?.length === 1
  return candidates.map((candidate) => ({
    ...candidate,
    clear: candidate.clear && isOnly(`-${candidate.former}`) && isOnly(`+${candidate.identityId}`),
  }))
}

type MatchRules = { readonly trait: keyof Traits; readonly pairsSeveral: boolean }

/**
 * Pairs of people of both sides who share a trait. A single person of one side matches everybody of the other side. If both sides have
 * several and `pairsSeveral` is set, each new key matches one old key, so that there are never more candidates than people.
 */
function* matches(leavers: People, joiners: People, { trait, pairsSeveral }: MatchRules): Generator<Match> {
  const oldByTrait = byTrait(leavers, trait)
  for (const [digest, newKeys] of byTrait(joiners, trait)) {
    const oldKeys = oldByTrait.get(digest) ?? []
    const [former] = oldKeys
    const [joiner] = newKeys
    if (former === undefined || joiner === undefined) continue
    if (oldKeys.length === 1) for (const identityId of newKeys) yield { former, identityId, clear: true }
    else if (newKeys.length === 1) for (const key of oldKeys) yield { former: key, identityId: joiner, clear: true }
    else if (pairsSeveral) {
      for (const [at, identityId] of newKeys.entries())
        yield { former: oldKeys[at % oldKeys.length] ?? former, identityId, clear: false }
    }
  }
}

function byTrait(people: People, trait: keyof Traits): Map<string, string[]> {
  const keys = new Map<string, string[]>()
  for (const [identityId, { [trait]: digest }] of people) {
    if (digest === null) continue
    const known = keys.get(digest)
    if (known) known.push(identityId)
    else keys.set(digest, [identityId])
  }
  return keys
}

function knownTraits({ email, name }: Traits): string[] {
  return [email, name].filter((trait) => trait !== null)
}

function traitsOf({ email, firstName, lastName, startedAt }: IdentityRecord): Traits {
  const isNamed = isText(firstName) && isText(lastName) && isText(startedAt)
  return {
    email: isText(email) ? fingerprint('email', foldText(email)) : null,
    name: isNamed ? fingerprint('name', foldText(firstName), foldText(lastName), startedAt) : null,
  }
}

/** True if both the name and the e-mail address differ from before: HR may have reused the key of a leaver for somebody else. */
export function isAnotherPerson(before: IdentityRecord, now: IdentityRecord): boolean {
  const differs = (field: 'email' | 'firstName' | 'lastName') => {
    const [from, to] = [before[field], now[field]]
    return isText(from) && isText(to) && foldText(from) !== foldText(to)
  }
  return differs('email') && (differs('firstName') || differs('lastName'))
}

function isText(value: string | null | undefined): value is string {
  return typeof value === 'string' && value.trim() !== ''
}

/** The text without case, accents and repeated blanks: HR systems differ in these. */
function foldText(text: string): string {
  return text.normalize('NFKD').replaceAll(/\p{M}/gu, '').trim().replaceAll(/\s+/g, ' ').toLowerCase()
}
