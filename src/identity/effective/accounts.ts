import type { OwnField } from '../record.ts'
import type { Property } from '../shape/property.ts'
import type { EffectiveCause, Evidence } from './cause.ts'
import { type EmploymentFacts, expectedStatus, isCurrent, isFormer } from './expected.ts'

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

/** A person whom HR states, also one who has left. */
export type StatedPerson = EmploymentFacts & {
  readonly connection: string
  readonly identityId: string
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
  /** When the list of accounts was true: later departures and starts do not count. */
  readonly at: Date
}

/**
 * Compares accounts with HR: enabled accounts of people who have left or whom HR does not know, and employed people without any account.
 * An account belongs to the person with its employee number, else with one of its addresses. A name alone never connects them; it only
 * names candidates.
 */
export function compareAccounts({ people, accounts, at }: Comparison): AccountFinding[] {
  const book = bookOf(people)
  const owners = accounts.map((account) => ownersOf(account, book))
  const holders = new Set(owners.flatMap(({ keyed, mailed }) => [...keyed, ...mailed]))
  const findings = accounts.flatMap((account, index) => judge(account, owners[index] ?? nobody, { book, at }) ?? [])
  return [...mergedByPerson(findings), ...findMissing({ people, holders, at })]
}

type Book = {
  readonly byKey: ReadonlyMap<string, readonly StatedPerson[]>
  readonly byEmail: ReadonlyMap<string, readonly StatedPerson[]>
  readonly byName: ReadonlyMap<string, readonly StatedPerson[]>
}

function bookOf(people: readonly StatedPerson[]): Book {
  const byEmail = new Map<string, StatedPerson[]>()
  for (const person of people)
    for (const email of new Set(person.emails.map(folded))) byEmail.getOrInsertComputed(email, () => []).push(person)
  return {
    byKey: Map.groupBy(people, ({ identityId }) => identityId),
    byEmail,
    byName: Map.groupBy(people, (person) => nameOf(person)),
  }
}

/** The people with the employee number of an account, and those with one of its addresses. */
type Owners = { readonly keyed: readonly StatedPerson[]; readonly mailed: readonly StatedPerson[] }
const nobody: Owners = { keyed: [], mailed: [] }

function ownersOf({ employeeNumber, login, emails }: Account, { byKey, byEmail }: Book): Owners {
  const addresses = new Set([...emails, ...(login === null ? [] : [login])].map(folded))
  const mailed = new Set([...addresses].flatMap((address) => byEmail.get(address) ?? []))
  return { keyed: (employeeNumber !== null && byKey.get(employeeNumber)) || [], mailed: [...mailed] }
}

function judge(
  account: Account,
  { keyed, mailed }: Owners,
  { book, at }: { readonly book: Book; readonly at: Date },
): AccountFinding | null {
  if (!account.isEnabled) return null
  const owners = keyed.length > 0 ? keyed : mailed
  const [first] = owners.toSorted(latestLeavingFirst)
  const { lastSignInAt } = account
  if (first === undefined) {
    const name = nameOf(account)
    const candidates = name === '' ? [] : (book.byName.get(name) ?? [])
    const evidence = {
      lastSignInAt,
      candidateKeys: candidates.slice(0, maxCandidates).map(({ identityId }) => identityId),
    }
    return { cause: 'account_unknown', person: null, account, evidence: { ...evidence, values: valuesOf([account]) } }
  }
  const hasStayed = (person: StatedPerson) => !isFormer(expectedStatus(person, at))
  // Somebody who returned under another key has the account still.
  const returned = mailed.some(
    (person) => hasStayed(person) && owners.some((owner) => nameOf(owner) !== '' && nameOf(owner) === nameOf(person)),
  )
  if (returned || owners.some(hasStayed)) return null
  const evidence = { lastSignInAt, leftAt: first.separatedAt ?? null, accounts: 1, values: valuesOf([account]) }
  return { cause: 'account_of_leaver', person: first, account, evidence }
}

const maxCandidates = 5

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
  return { logins: accounts.map(({ login, emails, id }) => login ?? emails[0] ?? id) }
}

type Missing = Pick<Comparison, 'people' | 'at'> & { readonly holders: ReadonlySet<StatedPerson> }

function findMissing({ people, holders, at }: Missing): AccountFinding[] {
  const addresses = new Set([...holders].flatMap(({ emails }) => emails.map(folded)))
  return people
    .filter((person) => !holders.has(person) && isCurrent(expectedStatus(person, at)))
    .filter(({ emails }) => !emails.some((email) => addresses.has(folded(email))))
    .map((person) => ({ cause: 'account_missing', person, account: null, evidence: {} }))
}

function folded(value: string): string {
  return value.trim().toLowerCase()
}

function nameOf({ firstName, lastName }: Pick<StatedPerson, 'firstName' | 'lastName'>): string {
  return folded(`${firstName ?? ''} ${lastName ?? ''}`)
}
