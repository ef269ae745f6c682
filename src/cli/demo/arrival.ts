import type { Identity } from '../../contract/platform/hris-user-identities.ts'
import { platformOperations } from '../../contract/platform/platform.ts'
import { createClient } from '../../http/client/client.ts'
import { walk } from '../../http/client/walk.ts'
import type { Night, NightEvent, Person } from './company.ts'

/** What happened to one person, according to the platform. */
export type PersonOutcome = {
  readonly identityId: string
  readonly event: NightEvent
  readonly separatedAt: string | null
  readonly employmentStatus: string | null
}

/** How the platform compares with the last export. */
export type Arrival = {
  /** People whose record on the platform agrees with HR's export. */
  readonly arrived: number
  /** Keys of people whose record differs or is missing. */
  readonly missing: readonly string[]
  /** Keys of people on the platform whom no export names. */
  readonly unexpected: readonly string[]
  readonly story: readonly PersonOutcome[]
}

/** HR's exports before and in the last night. `today` is the date of the last export. */
type Exports = { readonly before: readonly Person[]; readonly now: Night; readonly today: string }

/** The people on the platform. */
export type OnPlatform = {
  readonly identities: ReadonlyMap<string, Identity>
  /** By e-mail address. */
  readonly statuses: ReadonlyMap<string, string>
}

/** Asks the platform, through its public interface, whether everybody of the last export arrived as HR said. */
export async function checkArrival(
  platform: { readonly baseUrl: string; readonly key: string },
  exports: Exports,
): Promise<Arrival> {
  return compareArrival(await readPlatform(platform), exports)
}

/** Compares the platform with HR's exports, person by person. */
export function compareArrival({ identities, statuses }: OnPlatform, { before, now, today }: Exports): Arrival {
  const story = now.story
  const broken = new Set(story.brokenRow)
  const future = new Set(story.futureLeaver)
  const gone = new Set(story.absentee)
  // Only the unreadable cell of such a row is new, so the person stays as before.
  const stated = [
    ...now.people.filter(({ workerId }) => !broken.has(workerId)),
    ...before.filter(({ workerId }) => broken.has(workerId)),
  ]
  const missing = stated
    .filter((person) => !agrees(identities.get(person.workerId), person, { isWaiting: future.has(person.workerId) }))
    .map(({ workerId }) => workerId)
  // A person who is missing from a complete export has left on its date.
  missing.push(...[...gone].filter((id) => identities.get(id)?.separatedAt !== midnight(today)))
  const expected = new Set([...stated.map(({ workerId }) => workerId), ...gone])
  return {
    arrived: stated.length + gone.size - missing.length,
    missing,
    unexpected: [...identities.keys()].filter((id) => !expected.has(id)),
    story: (Object.entries(story) as [NightEvent, readonly string[]][]).flatMap(([event, ids]) =>
      ids.map((identityId) => {
        const identity = identities.get(identityId)
        const employmentStatus = (identity?.email && statuses.get(identity.email.toLowerCase())) ?? null
        return { identityId, event, separatedAt: identity?.separatedAt ?? null, employmentStatus }
      }),
    ),
  }
}

function agrees(identity: Identity | undefined, person: Person, { isWaiting }: { isWaiting: boolean }): boolean {
  if (identity === undefined) return false
  const leavingDate = isWaiting ? '' : person.terminationDate
  return (
    identity.email === person.email.toLowerCase() &&
    identity.firstName === person.firstName &&
    identity.lastName === person.lastName &&
    identity.jobTitle === person.jobTitle &&
    (identity.managerId ?? '') === person.managerId &&
    identity.isContractor === person.contractor &&
    identity.startedAt === midnight(person.hireDate) &&
    (identity.separatedAt ?? '') === (leavingDate && midnight(leavingDate))
  )
}

function midnight(date: string): string {
  return `${date}T00:00:00.000Z`
}

async function readPlatform({ baseUrl, key }: { readonly baseUrl: string; readonly key: string }): Promise<OnPlatform> {
  const client = createClient(platformOperations, { baseUrl, bearer: key })
  const identities = new Map<string, Identity>()
  for await (const { id } of walk(client.listCustomConnections, { query: {} })) {
    const input = { params: { connectionId: id }, query: { size: 500 } }
    for await (const identity of walk(client.listHrisUserIdentities, input))
      identities.set(identity.identityId, identity)
  }
  const statuses = new Map<string, string>()
  for await (const person of walk(client.listPersonnel, { query: { size: 500, 'expand[]': ['user'] } })) {
    if (person.user) statuses.set(person.user.email.toLowerCase(), person.employmentStatus)
  }
  return { identities, statuses }
}
