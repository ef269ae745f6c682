import type { PersonSearchResult } from '../../contract/control/people.ts'
import { Failure } from '../../errors.ts'
import { standardError } from '../../text/print.ts'
import { renderMatches } from '../render/matching-people.ts'
import { pluralize } from '../render/text.ts'
import type { Control } from './control-client.ts'
import { type CommonOptions, requireConnection, type Session } from './session.ts'

type Options = CommonOptions & { readonly showValues?: boolean; readonly maxMatches?: number }
type PersonKey = { readonly connection: string; readonly identityId: string }
type PersonQuery = { readonly connection: string | undefined; readonly search: string; readonly maxMatches: number }
type Matches = { readonly people: readonly PersonSearchResult[]; readonly isWhole: boolean }
type PersonMatches = Matches & {
  readonly search: string
  /** The only person with exactly this key, address or name. */
  readonly only: PersonKey | null
  /** Whether each of `people` has exactly this address or name. */
  readonly isExact: boolean
}

/** Maximum number of matches that are read. If there may be more, no single person can be chosen. */
const defaultMaxMatches = 10_000
const maxPerPage = 1000
const maxListed = 20

/**
 * The person whom the text names by key, whole e-mail address or whole words of the name. If several match, or only partly, all of them are
 * listed with their keys: nobody is ever guessed. A text without a match is used as a key, and the operation reports whether it is one.
 */
export async function requirePerson(session: Session, text: string, options: Options): Promise<PersonKey> {
  const { only, ...matches } = await findMatches(session, text, options)
  if (only !== null) return only
  if (matches.people.length > 0) throw ambiguousFailure(session, { ...matches, ...options })
  const connection = requireConnection(options, session.config)
  if (!/[\s@]/.test(text.trim())) return { connection, identityId: text }
  throw new Failure('not_found', `nobody in ${connection} has the e-mail address or name "${text}"`)
}

/** The same for a person in the source, who may be new: keys and addresses are passed on unchanged. */
export async function resolvePersonInSource(session: Session, text: string, options: Options): Promise<PersonKey> {
  const asItIs = { connection: requireConnection(options, session.config), identityId: text }
  if (text.includes('@')) return asItIs
  return (await findPerson(session, text, options)) ?? asItIs
}

/**
 * The known person whom the text names exactly; null if there is none. A text without spaces may be the key of somebody who is not known, so
 * similar people do not matter to it.
 */
export async function findPerson(session: Session, text: string, options: Options): Promise<PersonKey | null> {
  const { only, ...matches } = await findMatches(session, text, options)
  const isRefused = matches.isExact || (matches.people.length > 0 && /\s/.test(text.trim()))
  if (only === null && isRefused) throw ambiguousFailure(session, { ...matches, ...options })
  return only
}

/** The people with exactly this key, address or name; if there are none, the people whose key, address or name contains the text. */
async function findMatches(session: Session, text: string, options: Options): Promise<PersonMatches> {
  const { config, control } = session
  const search = text.trim()
  if (search === '') throw new Failure('usage', 'name a person by key, e-mail address or name')
  const connections = options.connection === undefined ? [...config.connections.keys()] : [options.connection]
  const byKey = await withKey(control, search, connections)
  if (byKey.length > 1) {
    const names = byKey.map((named) => named.connection).join(', ')
    throw new Failure('usage', `several connections have the key ${search} (${names}): name one with --connection`)
  }
  const [withIt] = byKey
  if (withIt !== undefined) return { search, only: namedAs(withIt), people: [], isExact: true, isWhole: true }
  const { connection, maxMatches = defaultMaxMatches } = options
  const { people, isWhole } = await readMatches(control, { connection, search, maxMatches })
  const exact = people.filter((person) => isCalled(person, search))
  const [only, ...namesakes] = exact
  return {
    search,
    only: only !== undefined && namesakes.length === 0 && isWhole ? namedAs(only) : null,
    people: exact.length > 0 ? exact : people,
    isExact: exact.length > 0,
    isWhole,
  }
}

function namedAs({ connection, identityId }: PersonKey): PersonKey {
  return { connection, identityId }
}

/**
 * The people with exactly this key, including one that HR has replaced since. Values are not requested, so that no access to people is
 * recorded.
 */
async function withKey(control: Control, identityId: string, connections: readonly string[]): Promise<PersonKey[]> {
  if (/[\s@]/.test(identityId)) return []
  const people = await Promise.all(
    connections.map(async (connection) => {
      try {
        return [await control.getPerson({ params: { connection, identityId }, query: {} })]
      } catch (error) {
        if (error instanceof Failure && error.code === 'not_found') return []
        throw error
      }
    }),
  )
  return people.flat()
}

/** The matches, at most `maxMatches`, and whether they are all. A page may be empty and still have a next one. */
async function readMatches(control: Control, { connection, search, maxMatches }: PersonQuery): Promise<Matches> {
  const people: PersonSearchResult[] = []
  let after: string | undefined
  do {
    const limit = Math.min(maxMatches, maxPerPage)
    const { data, next } = await control.searchPeople({ query: { connection, search, after, limit } })
    people.push(...data)
    after = next ?? undefined
  } while (after !== undefined && people.length <= maxMatches)
  return { people: people.slice(0, maxMatches), isWhole: after === undefined && people.length <= maxMatches }
}

/**
 * Whether the e-mail address, or each word of the name, equals the search with its marks: the server's search ignores marks and also finds
 * other people, and `muller@` is another mailbox than `müller@`.
 */
function isCalled({ person }: PersonSearchResult, search: string): boolean {
  if (search.includes('@')) return typeof person.email === 'string' && foldCase(person.email) === foldCase(search)
  // The name of a record is in a field of its own.
  const names = Object.entries(person).flatMap(([field, value]) => (isNameField(field) ? [String(value ?? '')] : []))
  const parts = new Set(wordsOf(names.join(' ')))
  return wordsOf(search).every((word) => parts.has(word))
}

function isNameField(field: string): boolean {
  return field === 'firstName' || field === 'lastName' || field.startsWith('.')
}

function wordsOf(text: string): string[] {
  return foldCase(text)
    .split(/\s+/)
    .filter((word) => word !== '')
}

/** Lower case, with composed marks. */
function foldCase(text: string): string {
  return text.normalize('NFC').toLowerCase()
}

type Listing = Omit<PersonMatches, 'only'> & { readonly showValues?: boolean }

/** Names are shown on request and on a terminal; the failure itself holds keys. */
function ambiguousFailure({ output }: Session, listing: Listing): Failure {
  const { people, isWhole, showValues } = listing
  const message = whySeveral(listing)
  const listed = people.slice(0, maxListed)
  const more = people.length > listed.length || !isWhole ? ['  … and others'] : []
  if (showValues && standardError.isTerminal && !output.json) {
    output.printMessage([renderMatches(listed, output.paint), ...more].join('\n'))
    return new Failure('usage', message)
  }
  return new Failure('usage', [
    message,
    ...listed.map(({ identityId, connection, state }) => `  ${identityId}  ${connection}  ${state}`),
    ...more,
  ])
}

function whySeveral({ people, search, isExact, isWhole }: Listing): string {
  if (!isWhole) return `too many people match "${search}": use the key of one`
  const count = people.length
  return isExact
    ? `"${search}" matches ${pluralize(count, 'person', 'people')}: use the key of one`
    : `nobody has exactly the name "${search}"; ${pluralize(count, 'person has a similar name', 'people have similar names')}: use the key of one`
}
