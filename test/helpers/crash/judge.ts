import { sql } from 'kysely'
import type { CustomConnection } from '../../../src/contract/platform/custom-connections.ts'
import type { Identity } from '../../../src/contract/platform/hris-user-identities.ts'
import { walk } from '../../../src/http/client/walk.ts'
import { type AccountedChange, changesOf } from '../../../src/store/history/history.ts'
import type { Db, RunRow } from '../../../src/store/schema.ts'
import type { PlatformClient } from '../../../src/sync/context/context.ts'
import type { ExpectedPerson } from '../model/hr-model.ts'

/** Maximum number of findings of one kind that are named; the rest is counted. */
const maxNamed = 20

const fields = [
  'email',
  'firstName',
  'jobTitle',
  'startedAt',
  'separatedAt',
] as const satisfies (keyof ExpectedPerson)[]

/** States of a run whose plan was accepted. A cancelled run was accepted if it has batches. */
export const acceptedStates: readonly string[] = ['delivering', 'unchanged', 'finished', 'finished_with_problems']
const unfinishedStates: readonly string[] = ['waiting', 'reading', 'planned', 'delivering']

/**
 * Compares the platform with what HR stated. Returns a sentence for each fault; an empty list is the expected result. With `db`, also
 * checks that the store has no unfinished work and accounts for every change. Changes nothing.
 */
export async function judge({
  client,
  expected,
  open = new Set(),
  db,
}: {
  /** A client of an account without other data: everything that its connections hold is compared. */
  client: Pick<PlatformClient, 'listCustomConnections' | 'listHrisUserIdentities'>
  expected: ReadonlyMap<string, ExpectedPerson>
  /** People who may be on the platform in any state. */
  open?: ReadonlySet<string>
  db?: Db
}): Promise<string[]> {
  const onPlatform = await platformFindings(client, expected, open)
  return db ? [...onPlatform, ...(await storeFindings(db, expected))] : onPlatform
}

/** The `asOf` of the exports of accepted runs, in the order of their acceptance. */
export async function acceptedExports(db: Db): Promise<string[]> {
  const runs = await runsOf(db)
  return runs
    .filter((run) => wasAccepted(run) && run.feed === 'source' && run.source !== null && run.as_of !== null)
    .sort((a, b) => acceptedAt(a) - acceptedAt(b))
    .map((run) => run.as_of?.toISOString() ?? '')
}

async function platformFindings(
  client: Pick<PlatformClient, 'listCustomConnections' | 'listHrisUserIdentities'>,
  expected: ReadonlyMap<string, ExpectedPerson>,
  open: ReadonlySet<string>,
): Promise<string[]> {
  const connections: CustomConnection[] = []
  for await (const connection of walk(client.listCustomConnections, { query: {} })) connections.push(connection)
  const identities = new Map<string, Identity>()
  const twice: string[] = []
  for (const { id } of connections) {
    const list = walk(client.listHrisUserIdentities, { params: { connectionId: id }, query: { size: 500 } })
    for await (const identity of list) {
      if (identities.has(identity.identityId)) twice.push(`${identity.identityId} is on the platform twice`)
      identities.set(identity.identityId, identity)
    }
  }
  const names = connections.map(({ clientAlias }) => clientAlias)
  const doubled = [...new Set(names.filter((name, i) => names.indexOf(name) !== i))]
  return [
    ...doubled.map((name) => `the platform has the connection "${name}" more than once`),
    ...few(twice),
    ...few([...expected.keys()].filter((id) => !identities.has(id)).map((id) => `${id} is not on the platform`)),
    ...few(
      [...identities.keys()]
        .filter((id) => !expected.has(id) && !open.has(id))
        .map((id) => `${id} is on the platform, where nobody is expected`),
    ),
    ...few([...identities.values()].flatMap((identity) => differences(identity, expected.get(identity.identityId)))),
  ]
}

function differences(identity: Identity, want: ExpectedPerson | undefined): string[] {
  if (!want) return []
  return fields
    .filter((field) => identity[field] !== want[field])
    .map((field) => `${identity.identityId}: the platform has ${field} ${identity[field]}, and HR said ${want[field]}`)
}

async function storeFindings(db: Db, expected: ReadonlyMap<string, ExpectedPerson>): Promise<string[]> {
  const runs = await runsOf(db)
  const changes = new Map<string, AccountedChange[]>()
  for (const run of runs) changes.set(run.id, await allChanges(db, run.id))
  return [
    ...runs
      .filter(({ state }) => unfinishedStates.includes(state))
      .map(({ id, state }) => `run ${id} is still ${state}`),
    ...(await dueBatches(db)),
    ...few(await unconfirmedPeople(db)),
    ...few(runs.filter(wasAccepted).flatMap((run) => unaccounted(run, changes.get(run.id) ?? []))),
    ...few(withoutChange(expected, changes)),
    ...overlaps(runs, changes),
  ]
}

async function dueBatches(db: Db): Promise<string[]> {
  const due = await db.selectFrom('deliveries').selectAll().where('state', '=', 'due').execute()
  return due.map(({ run_id, batch, last_failure }) => `batch ${batch} of run ${run_id} is due still (${last_failure})`)
}

/** A sentence for each person whose record the platform has not acknowledged, who is in doubt, or who has a problem. */
async function unconfirmedPeople(db: Db): Promise<string[]> {
  const late = await db
    .selectFrom('roster')
    .leftJoin('out_of_sync', (join) =>
      join
        .onRef('out_of_sync.connection', '=', 'roster.connection')
        .onRef('out_of_sync.identity_id', '=', 'roster.identity_id'),
    )
    .select('roster.identity_id')
    // The platform must have nothing of a retracted person.
    .where(sql<boolean>`case when roster.retracted_at is null
      then roster.desired is not null and out_of_sync.identity_id is not null
      else out_of_sync.identity_id is null or out_of_sync.confirmed is not null end`)
    .orderBy('roster.identity_id')
    .execute()
  const uncertain = await db.selectFrom('roster').select('identity_id').where('uncertain', '=', true).execute()
  const problems = await db.selectFrom('problems').selectAll().orderBy('identity_id').execute()
  return [
    ...late.map(({ identity_id }) => `${identity_id}: the platform is behind, as the store has it`),
    ...uncertain.map(({ identity_id }) => `${identity_id}: what the platform holds is in doubt still`),
    ...problems.map(({ identity_id, kind, message }) => `${identity_id} stands in the problems: ${kind}, ${message}`),
  ]
}

/** A sentence for each change of an accepted run that is open or lacks a time, an answer or an origin. */
function unaccounted(run: RunRow, changes: readonly AccountedChange[]): string[] {
  return changes.flatMap((change) => {
    const who = `${change.change.identityId} (${change.change.kind}) of run ${run.id}`
    if (change.state === 'planned' || change.state === 'due') return [`${who} is ${change.state} for ever`]
    if (change.state === 'dropped') return []
    const missing = [
      ...(change.sentAt === null ? ['when it was sent'] : []),
      ...(change.answeredAt === null ? ['when it was answered'] : []),
      ...(change.answer === null ? ['what was answered'] : []),
      ...(change.origin === null && hasOrigin(change, run) ? ['from where it came'] : []),
    ]
    const backwards = Date.parse(change.sentAt ?? '') > Date.parse(change.answeredAt ?? '')
    return [
      ...missing.map((missingPart) => `${who} does not say ${missingPart}`),
      ...(backwards ? [`${who} was answered before it was sent`] : []),
    ]
  })
}

/** Whether a change comes from a row: not from absence, an earlier run or an operator, who also states departures. */
function hasOrigin({ change }: AccountedChange, { feed, trigger, options }: RunRow): boolean {
  if (change.carried || options.retract || (feed === 'roster' && trigger === 'operator')) return false
  return change.kind === 'retract' || !change.inferred
}

function withoutChange(
  expected: ReadonlyMap<string, ExpectedPerson>,
  changes: ReadonlyMap<string, readonly AccountedChange[]>,
): string[] {
  const named = new Set([...changes.values()].flat().map(({ change }) => change.identityId))
  return [...expected.keys()].filter((id) => !named.has(id)).map((id) => `${id} stands in no run's changes`)
}

/** A sentence for each run that sent something before an earlier run of its connection had ended. */
function overlaps(runs: readonly RunRow[], changes: ReadonlyMap<string, readonly AccountedChange[]>): string[] {
  const spans = runs.flatMap((run) => {
    const sent = (changes.get(run.id) ?? []).flatMap(({ sentAt }) => (sentAt === null ? [] : [Date.parse(sentAt)]))
    const ended = run.finished_at?.getTime() ?? Number.POSITIVE_INFINITY
    return sent.length > 0 ? [{ run, from: least(sent), until: ended }] : []
  })
  spans.sort((a, b) => a.from - b.from || a.until - b.until)
  return spans.flatMap(({ run, from }, i) =>
    spans
      .slice(0, i)
      .filter((before) => before.run.connection === run.connection && before.until > from)
      .map((before) => `run ${run.id} sent something before run ${before.run.id} had ended`),
  )
}

function wasAccepted({ state, batches }: RunRow & { batches: number }): boolean {
  return acceptedStates.includes(state) || batches > 0
}

function acceptedAt({ decided_at, finished_at, started_at, state }: RunRow): number {
  const decided = state === 'cancelled' ? null : decided_at
  return (decided ?? started_at ?? finished_at)?.getTime() ?? 0
}

type Judged = RunRow & { readonly batches: number }

async function runsOf(db: Db): Promise<Judged[]> {
  return await db
    .selectFrom('runs')
    .selectAll()
    .select((eb) => [
      eb
        .selectFrom('deliveries')
        .whereRef('deliveries.run_id', '=', 'runs.id')
        .select((count) => count.fn.countAll<number>().as('batches'))
        .$asScalar()
        .as('batches'),
    ])
    .orderBy('created_at')
    .execute()
    .then((rows) => rows.map((row) => ({ ...row, batches: Number(row.batches) })))
}

async function allChanges(db: Db, runId: string): Promise<AccountedChange[]> {
  const all: AccountedChange[] = []
  for (let after = ''; ; ) {
    const page = await changesOf(db, runId, { after, limit: 5000 })
    all.push(...page)
    const last = page.at(-1)
    if (!last || page.length < 5000) return all
    after = last.change.identityId
  }
}

function least(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => Math.min(a, b))
}

function few(findings: readonly string[]): string[] {
  if (findings.length <= maxNamed) return [...findings]
  return [...findings.slice(0, maxNamed), `… and ${findings.length - maxNamed} more like "${findings[maxNamed]}"`]
}
