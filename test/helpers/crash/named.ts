import type { Control } from '../../../src/cli/session/control-client.ts'
import type { Identity } from '../../../src/contract/platform/hris-user-identities.ts'
import { listProblems } from '../../../src/store/deliveries/problems.ts'
import { listBlockedPeople } from '../../../src/store/rejects/blocked-people.ts'
import type { Db } from '../../../src/store/schema.ts'
import { hasLeft, isUnlisted, type Untidy } from './untidy.ts'

/** The people whom an operator sees as differing from HR's data. */
export type Named = {
  readonly problems: ReadonlySet<string>
  readonly blockedPeople: ReadonlySet<string>
  /** By a plan that is held. */
  readonly held: ReadonlySet<string>
}

/** As the API of a running daemon shows them. */
export async function namedByControl(control: Control): Promise<Named> {
  const limit = 1000
  const problems = await control.listProblems({ query: { limit } })
  const blockedPeople = await control.listBlockedPeople({ query: { limit } })
  const runs = await control.listRuns({ query: { limit } })
  const held = new Set<string>()
  for (const { id: runId } of runs.data.filter(({ state }) => state === 'held')) {
    const { data } = await control.listChanges({ params: { runId }, query: { limit } })
    for (const { identityId } of data) held.add(identityId)
  }
  return { problems: keysOf(problems.data), blockedPeople: keysOf(blockedPeople.data), held }
}

/** As a store without held plans shows them. */
export async function namedInStore(db: Db): Promise<Named> {
  const now = new Date()
  return {
    problems: keysOf(await listProblems(db, { now })),
    blockedPeople: keysOf(await listBlockedPeople(db, { now })),
    held: new Set(),
  }
}

/**
 * A sentence for every person who is not on the platform as HR says and is not named either, and for every person who is named without
 * a reason.
 */
export function findUnreported({
  platform,
  accepted,
  read,
  named: { problems, blockedPeople, held },
}: {
  platform: ReadonlyMap<string, Identity>
  accepted: readonly Untidy[]
  /** The accepted ones, and those whose plan is held. */
  read: readonly Untidy[]
  named: Named
}): string[] {
  const isSeparated = (id: string) => Boolean(platform.get(id)?.separatedAt)
  const isNamed = (id: string) => problems.has(id) || blockedPeople.has(id) || held.has(id)
  const [lastAccepted, lastRead] = [accepted.at(-1), read.at(-1)]
  const faulty = new Set([lastAccepted, lastRead].flatMap((last) => [...(last?.faults.keys() ?? [])]))
  const lost = leaversOf(read).filter((id) => platform.has(id) && !isSeparated(id) && !isNamed(id))
  return [
    ...lost.map((id) => `${id} has left, as HR says, and is neither separated on the platform nor named`),
    ...(lastAccepted ? unnamed(lastAccepted) : []).map((id) => `the row of ${id} cannot be read, and no one is told`),
    ...[...blockedPeople]
      .filter((id) => !faulty.has(id))
      .map((id) => `${id} is said not to be served, and nothing is wrong with their row`),
  ]

  function unnamed({ night, faults }: Untidy): string[] {
    return night.rows.flatMap((row) => {
      const fault = faults.get(row.id)
      if (!fault || blockedPeople.has(row.id)) return []
      const mayBeServed = isUnlisted(fault) || (fault.kind === 'twice' && hasLeft(row))
      const isServed = platform.has(row.id) && hasLeft(row) === isSeparated(row.id)
      return mayBeServed && isServed ? [] : [row.id]
    })
  }
}

/** The people in these exports who have left by the last of them. */
function leaversOf(read: readonly Untidy[]): string[] {
  const employed = new Set(read.at(-1)?.night.rows.flatMap((row) => (hasLeft(row) ? [] : [row.id])))
  const listed = new Set(read.flatMap(({ night }) => night.rows.map(({ id }) => id)))
  return [...listed].filter((id) => !employed.has(id))
}

function keysOf(entries: readonly { readonly identityId: string | null }[]): Set<string> {
  return new Set(entries.flatMap(({ identityId }) => identityId ?? []))
}
