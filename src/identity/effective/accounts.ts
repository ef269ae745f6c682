import type { OwnField } from '../record.ts'
import type { Property } from '../shape/property.ts'
import type { EffectiveCause, Evidence } from './cause.ts'
import { type EmploymentFacts, expectedStatus, isCurrent, isFormer } from './expected.ts'
import { foldName } from './name-key.ts'

const text: Property = { type: 'string', isList: false, mayBeNull: true }

/** What a list of accounts can state of each, as the names of own fields. The key is the ID of the account in the directory. */
export const accountProperties: ReadonlyMap<OwnField, Property> = new Map<OwnField, Property>([
  ['.login', text],
  ['.email', text],
  ['.aliases', { ...text, isList: true }],
  ['.enabled', { ...text, type: 'boolean' }],
  // For people to read; it decides nothing.
  ['.lastSignIn', text],
  ['.employeeNumber', text],
  ['.firstName', text],
  ['.lastName', text],
])

/** An account of a directory. */
export type Account = {
  readonly id: string
  readonly login: string | null
  readonly emails: readonly string[]
  readonly isEnabled: boolean
  readonly lastSignInAt: string | null
  /** The key of the person in HR, where the directory has it. */
  readonly employeeNumber: string | null
  readonly firstName: string | null
  readonly lastName: string | null
}

/** Of an accepted list of accounts, what the next one must have too. */
export type AcceptedList = {
  readonly accounts: number
  /** The mapped properties that it had a column for. */
  readonly columns: readonly string[]
  /** Those of these that several accounts had a value of; undefined in lists of before. */
  readonly filled?: readonly string[]
  /** Digests of its last accounts. */
  readonly lastAccounts: readonly string[]
  /** A digest of the scope that it was read with; undefined in lists of before. */
  readonly scope?: string
}

/** A person whom HR states, also one who has left. */
export type StatedPerson = EmploymentFacts & {
  readonly connection: string
  readonly identityId: string
  /** Later keys that an operator confirmed. */
  readonly laterKeys: readonly string[]
  readonly emails: readonly string[]
  readonly firstName: string | null
  readonly lastName: string | null
}

type AccountCause = Extract<EffectiveCause, 'account_of_leaver' | 'account_unknown' | 'account_missing'>

/** A finding about an account, a person or both. `person` null: HR does not know the account. */
export type AccountFinding = {
  readonly cause: AccountCause
  readonly person: StatedPerson | null
  readonly account: Account | null
  readonly evidence: Evidence
}

type Comparison = {
  readonly people: readonly StatedPerson[]
  readonly accounts: readonly Account[]
  /** The as-of time of the list of accounts: later departures and starts are ignored. */
  readonly at: Date
}

/**
 * Compares accounts with HR: enabled accounts of people who have left or whom HR does not know, and employed people without any account.
 * An account is matched to the person who has its employee number and its address, or one of the two. If the number and the address belong
 * to different people, the name decides. A name alone only suggests candidates.
 */
export function compareAccounts({ people, accounts, at }: Comparison): AccountFinding[] {
  const book = bookOf(people)
  const owners = accounts.map((account) => ownersOf(account, book))
  const holders = new Set(owners.flatMap((each) => each.owners))
  const findings = accounts.flatMap((account, index) => judge(account, owners[index] ?? nobody, { book, at }) ?? [])
  return [...mergedByPerson(findings), ...findMissing({ people, holders, at })]
}

/** In how many accounts number and address are known to HR, and in how many of these they are of different people. */
export function countContradictions({ people, accounts }: Omit<Comparison, 'at'>): {
  of: number
  contradicting: number
} {
  const book = bookOf(people)
  const pairs = accounts.flatMap((account) => {
    const keyed = keyedOf(account, book)
    const mailed = mailedOf(account, book)
    return keyed.length > 0 && mailed.length > 0 ? [{ keyed, mailed }] : []
  })
  const contradicting = pairs.filter(
    ({ keyed, mailed }) => !keyed.some((person) => mailed.includes(person)) && !haveOneName([...keyed, ...mailed]),
  )
  return { of: pairs.length, contradicting: contradicting.length }
}

type Book = {
  readonly byKey: ReadonlyMap<string, readonly StatedPerson[]>
  /** By the work address. */
  readonly byWorkEmail: ReadonlyMap<string, readonly StatedPerson[]>
  readonly byEmail: ReadonlyMap<string, readonly StatedPerson[]>
  readonly byName: ReadonlyMap<string, readonly StatedPerson[]>
}

function bookOf(people: readonly StatedPerson[]): Book {
  const byKey = new Map<string, StatedPerson[]>()
  const byEmail = new Map<string, StatedPerson[]>()
  for (const person of people) {
    const keys = [person.identityId, ...person.laterKeys].map(foldText)
    for (const key of new Set(keys)) byKey.getOrInsertComputed(key, () => []).push(person)
    for (const email of new Set(person.emails.map(foldText))) byEmail.getOrInsertComputed(email, () => []).push(person)
  }
  return {
    byKey,
    byWorkEmail: Map.groupBy(people, workEmailOf),
    byEmail,
    byName: Map.groupBy(people, (person) => nameOf(person)),
  }
}

/** Whose an account is. */
type Owners = {
  /** Several if they may be one person. */
  readonly owners: readonly StatedPerson[]
  /** Its number and addresses are of different people, and its name is of none or of several of them. */
  readonly isDisputed: boolean
}
const nobody: Owners = { owners: [], isDisputed: false }

/**
 * The people with both the number and an address of an account; without any, those with either. Numbers of two connections overlap, and a
 * number need not be the key of HR at all, so that the name of the account decides between different people.
 */
function ownersOf(account: Account, book: Book): Owners {
  const keyed = keyedOf(account, book)
  const mailed = mailedOf(account, book)
  const both = keyed.filter((person) => mailed.includes(person))
  if (both.length > 0) {
    // Somebody who returned under another key kept the address and the name.
    const returned = mailed.filter((person) => !both.includes(person) && haveOneName([person, ...both]))
    return { owners: [...both, ...returned], isDisputed: false }
  }
  if (keyed.length === 0) return ownersByAddress(account, mailed)
  const named = [...keyed, ...mailed].filter((person) => haveOneName([person, account]))
  const owners = named.length > 0 ? named : [...keyed, ...mailed]
  return { owners, isDisputed: owners.length > 1 && !haveOneName(owners) }
}

/**
 * Of different people with an address of an account that has no number of theirs, those with its name, else those whose work address is its
 * login. Keys with one work address may be of one person, or a shop shares it.
 */
function ownersByAddress(account: Account, mailed: readonly StatedPerson[]): Owners {
  const login = foldText(account.login ?? '')
  const named = mailed.filter((person) => haveOneName([person, account]))
  const deciding = named.length > 0 ? named : mailed.filter((person) => workEmailOf(person) === login)
  if (deciding.length === 0) return { owners: mailed, isDisputed: false }
  const owners = mailed.filter((person) =>
    deciding.some((one) => workEmailOf(one) === workEmailOf(person) || haveOneName([one, person])),
  )
  return { owners, isDisputed: named.length === 0 && owners.length === 1 && mailed.length > 1 }
}

/** The people with its number as one of their keys. Readers of HR's keys may lower their case. */
function keyedOf({ employeeNumber }: Account, { byKey }: Book): readonly StatedPerson[] {
  return (employeeNumber !== null && byKey.get(foldText(employeeNumber))) || []
}

/** The people with its login or first address as their work address; without any, those with any of its addresses, as relatives share one. */
function mailedOf({ login, emails }: Account, { byWorkEmail, byEmail }: Book): StatedPerson[] {
  const own = [login ?? '', emails[0] ?? ''].map(foldText).filter((address) => address !== '')
  const working = own.flatMap((address) => byWorkEmail.get(address) ?? [])
  if (working.length > 0) return [...new Set(working)]
  const addresses = [...own, ...emails.map(foldText)]
  return [...new Set(addresses.flatMap((address) => byEmail.get(address) ?? []))]
}

function workEmailOf({ emails }: StatedPerson): string {
  return foldText(emails[0] ?? '')
}

function haveOneName(people: readonly Pick<StatedPerson, 'firstName' | 'lastName'>[]): boolean {
  const names = new Set(people.map(nameOf))
  return names.size === 1 && !names.has('')
}

function judge(
  account: Account,
  { owners, isDisputed }: Owners,
  { book, at }: { readonly book: Book; readonly at: Date },
): AccountFinding | null {
  if (!account.isEnabled) return null
  const { lastSignInAt } = account
  if (owners.length === 0) {
    const name = nameOf(account)
    const candidates = name === '' ? [] : (book.byName.get(name) ?? [])
    const evidence = {
      lastSignInAt,
      candidateKeys: candidates.slice(0, maxCandidates).map(({ identityId }) => identityId),
    }
    return { cause: 'account_unknown', person: null, account, evidence: { ...evidence, values: valuesOf([account]) } }
  }
  const leavers = owners.filter((person) => isFormer(expectedStatus(person, at)))
  if (leavers.length < owners.length && !isDisputed) return null
  // Of different people, the one with the number is named.
  const withNumber = leavers.filter((person) => keyedOf(account, book).includes(person))
  const [first] = (withNumber.length > 0 ? withNumber : leavers).toSorted(latestLeavingFirst)
  if (first === undefined) return null
  const note = isDisputed ? { note: 'several_owners' as const } : {}
  const evidence = { lastSignInAt, leftAt: first.separatedAt ?? null, accounts: 1, ...note }
  return { cause: 'account_of_leaver', person: first, account, evidence: { ...evidence, values: valuesOf([account]) } }
}

const maxCandidates = 5
const maxLogins = 20

function latestLeavingFirst(a: EmploymentFacts, b: EmploymentFacts): number {
  return (b.separatedAt ?? '9') < (a.separatedAt ?? '9') ? -1 : 1
}

/** One finding for each leaver, however many accounts they have. */
function mergedByPerson(findings: readonly AccountFinding[]): AccountFinding[] {
  const ofPeople = Map.groupBy(findings, ({ person, account }) => person ?? account)
  return [...ofPeople.values()].flatMap((same) => {
    const [first] = same
    if (first === undefined) return []
    const accounts = same.flatMap(({ account }) => account ?? [])
    if (accounts.length < 2) return [first]
    const lastSignInAt =
      accounts
        .map((account) => account.lastSignInAt ?? '')
        .toSorted()
        .at(-1) || null
    const evidence = { ...first.evidence, lastSignInAt, accounts: accounts.length, values: valuesOf(accounts) }
    return [{ ...first, evidence }]
  })
}

function valuesOf(accounts: readonly Account[]): NonNullable<Evidence['values']> {
  return { logins: accounts.slice(0, maxLogins).map(({ login, emails, id }) => login ?? emails[0] ?? id) }
}

type MissingInput = Pick<Comparison, 'people' | 'at'> & { readonly holders: ReadonlySet<StatedPerson> }

function findMissing({ people, holders, at }: MissingInput): AccountFinding[] {
  const addresses = new Set([...holders].map(workEmailOf))
  return people
    .filter((person) => !holders.has(person) && isCurrent(expectedStatus(person, at)))
    .filter((person) => workEmailOf(person) === '' || !addresses.has(workEmailOf(person)))
    .map((person) => ({ cause: 'account_missing', person, account: null, evidence: {} }))
}

/** The form in which numbers and addresses are compared. */
export function foldText(value: string): string {
  return value.trim().toLowerCase()
}

function nameOf({ firstName, lastName }: Pick<StatedPerson, 'firstName' | 'lastName'>): string {
  return foldName(`${firstName ?? ''} ${lastName ?? ''}`)
}
