import { fingerprint } from './digest.ts'
import type { IdentityRecord, Reject, Observation } from './record.ts'

/** Two keys of one run that look like one person: one that is gone, and one that is new. */
export type KeyChangeCandidate = {
  readonly former: string
  readonly identityId: string
  /** What both have in common: the e-mail address, the full name with the start date, or all of it. */
  readonly by: 'email' | 'name' | 'both'
  /** Neither of the two is in another pair. */
  readonly clear: boolean
}

/** A key that HR uses now, and the person whom it names: the key that the platform has them under. */
export type Alias = {
  readonly identityId: string
  /** The keys of a person in the order in which they came. The first alias has 1. */
  readonly order: number
}

/** What people have said of keys: which of them name a person who is known under another one, and which pairs are two people. */
export type KeyAnswers = {
  readonly aliases: ReadonlyMap<string, Alias>
  /** Pairs by `candidateName`. */
  readonly differentPeople: ReadonlySet<string>
}
export const noAnswers: KeyAnswers = { aliases: new Map(), differentPeople: new Set() }

/** Names a pair, since a key may hold any sign. */
export function candidateName({ former, identityId }: Pick<KeyChangeCandidate, 'former' | 'identityId'>): string {
  return JSON.stringify([former, identityId])
}

/** What a row says, about the person whom its key names. A manager is named by a key too. */
export function resolveAlias(told: Observation, aliases: KeyAnswers['aliases']): Observation
export function resolveAlias(told: Observation | Reject, aliases: KeyAnswers['aliases']): Observation | Reject
export function resolveAlias(told: Observation | Reject, aliases: KeyAnswers['aliases']): Observation | Reject {
  if (aliases.size === 0) return told
  const alias = told.identityId === null ? undefined : aliases.get(told.identityId)
  if ('reason' in told) return alias ? { ...told, identityId: alias.identityId } : told
  const manager = aliases.get(told.fields.managerId ?? '')
  if (!alias && !manager) return told
  return {
    ...told,
    ...(alias && { identityId: alias.identityId, keyOrder: alias.order }),
    ...(manager && { fields: { ...told.fields, managerId: manager.identityId } }),
  }
}

/** What a person can be known again by under another key, as digests; null where too little is known. */
type Traits = { readonly email: string | null; readonly name: string | null }

type Match = Omit<KeyChangeCandidate, 'by'>

/**
 * Looks for people whose key was issued again. What is kept of a person is two digests, and only of people who are new or gone: the
 * people who stay cost nothing.
 */
export function watchKeys({ differentPeople }: Pick<KeyAnswers, 'differentPeople'>) {
  const joiners = new Map<string, Traits>()
  const gone = new Map<string, Traits>()
  /** The traits of joiners, counted once no row can come any more. */
  let traitsOfJoiners: ReadonlySet<string> | null = null

  return {
    joins(identityId: string, record: IdentityRecord): void {
      joiners.set(identityId, traitsOf(record))
    },
    leaves(identityId: string, record: IdentityRecord): void {
      gone.set(identityId, traitsOf(record))
    },
    /** Notes one of the many people whom no row named, once no row can come any more: only what matches a joiner is kept. */
    vanishes(identityId: string, record: IdentityRecord): void {
      if (joiners.size === 0) return
      traitsOfJoiners ??= new Set([...joiners.values()].flatMap(present))
      const traits = traitsOf(record)
      if (present(traits).some((trait) => traitsOfJoiners?.has(trait))) gone.set(identityId, traits)
    },
    /** A row that said so turned out not to count. */
    forget(identityId: string): void {
      joiners.delete(identityId)
      gone.delete(identityId)
    },
    /** The pairs that no one has called two people, by the keys that are gone. */
    candidates(): KeyChangeCandidate[] {
      const found = new Map<string, KeyChangeCandidate>()
      const add = (by: 'email' | 'name', matched: Iterable<Match>) => {
        for (const { former, identityId, clear } of matched) {
          const name = candidateName({ former, identityId })
          const before = found.get(name)
          if (differentPeople.has(name)) continue
          found.set(name, { former, identityId, by: before ? 'both' : by, clear: clear || (before?.clear ?? false) })
        }
      }
      // A mailbox that several of both share belongs to none of them. A name with its start date is a person's own.
      add('email', matches(gone, joiners, { trait: 'email', severalOnBoth: false }))
      add('name', matches(gone, joiners, { trait: 'name', severalOnBoth: true }))
      const pairs = [...found.values()]
      const times = Map.groupBy(
        pairs.flatMap(({ former, identityId }) => [`-${former}`, `+${identityId}`]),
        (name) => name,
      )
      const isOnly = (name: string) => times.get(name)?.length === 1
      return pairs
        .map((pair) => ({
          ...pair,
          clear: pair.clear && isOnly(`-${pair.former}`) && isOnly(`+${pair.identityId}`),
        }))
        .sort((a, b) => (candidateName(a) < candidateName(b) ? -1 : 1))
    },
  }
}

/**
 * The people of both sides who share a trait. One of one side goes with each of the other. Of several on both sides each new one goes
 * with one who is gone, if that is asked for, so that there are never more pairs than people.
 */
function* matches(
  gone: ReadonlyMap<string, Traits>,
  joiners: ReadonlyMap<string, Traits>,
  { trait, severalOnBoth }: { readonly trait: keyof Traits; readonly severalOnBoth: boolean },
): Generator<Match> {
  const formers = byTrait(gone, trait)
  for (const [digest, news] of byTrait(joiners, trait)) {
    const olds = formers.get(digest) ?? []
    const [old] = olds
    const [joiner] = news
    if (old === undefined || joiner === undefined) continue
    if (olds.length === 1) for (const identityId of news) yield { former: old, identityId, clear: true }
    else if (news.length === 1) for (const former of olds) yield { former, identityId: joiner, clear: true }
    else if (severalOnBoth) {
      for (const [at, identityId] of news.entries())
        yield { former: olds[at % olds.length] ?? old, identityId, clear: false }
    }
  }
}

function byTrait(people: ReadonlyMap<string, Traits>, trait: keyof Traits): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const [identityId, { [trait]: digest }] of people) {
    if (digest === null) continue
    const known = found.get(digest)
    if (known) known.push(identityId)
    else found.set(digest, [identityId])
  }
  return found
}

function present({ email, name }: Traits): string[] {
  return [email, name].filter((trait) => trait !== null)
}

function traitsOf({ email, firstName, lastName, startedAt }: IdentityRecord): Traits {
  const isNamed = isText(firstName) && isText(lastName) && isText(startedAt)
  return {
    email: isText(email) ? fingerprint('email', folded(email)) : null,
    name: isNamed ? fingerprint('name', folded(firstName), folded(lastName), startedAt) : null,
  }
}

/** Whether a record has another name and another address than before, as where HR gives the key of a leaver to somebody else. */
export function isAnotherPerson(before: IdentityRecord, now: IdentityRecord): boolean {
  const differs = (field: 'email' | 'firstName' | 'lastName') => {
    const [from, to] = [before[field], now[field]]
    return isText(from) && isText(to) && folded(from) !== folded(to)
  }
  return differs('email') && (differs('firstName') || differs('lastName'))
}

function isText(value: string | null | undefined): value is string {
  return typeof value === 'string' && value.trim() !== ''
}

/** Without case, accents and the width of blanks, in which two HR systems differ. */
function folded(text: string): string {
  return text.normalize('NFKD').replaceAll(/\p{M}/gu, '').trim().replaceAll(/\s+/g, ' ').toLowerCase()
}
