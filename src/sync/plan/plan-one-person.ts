import { Failure } from '../../errors.ts'
import type { Verdict } from '../../identity/change.ts'
import type { PersonInput } from '../../identity/decide/decide.ts'
import { explain } from '../../identity/decide/explain.ts'
import { exportRows } from '../../identity/decide/row-models.ts'
import { storeEach } from '../../identity/decide/storing.ts'
import type { RowAccount } from '../../identity/mapping/row-account.ts'
import { pluralize } from '../../identity/pluralize.ts'
import type { Reject } from '../../identity/record.ts'
import { resolveKey } from '../../store/key-answers.ts'
import type { PlanSummary } from '../../store/plans/plans.ts'
import { findKeysByEmail, rosterEntry } from '../../store/roster/roster.ts'
import type { Db, PersonAccount, RequestedPerson } from '../../store/schema.ts'
import type { SyncConnection, SyncContext } from '../context/context.ts'
import type { OnProgress } from './collect-rows.ts'
import { decideAbsenceOfOne, decidePageOfOne } from './decide-one-person.ts'
import { type OpenedFeed, openSource } from './feeds.ts'
import { collectKeyChanges, judgePlan } from './judge-plan.ts'
import { emailTest, PersonWatch, requestedPerson } from './person-watch.ts'
import { loadPlanInputs, type PlanInputs } from './plan-inputs.ts'
import { openWorkspace, readFeed } from './read-feed.ts'
import { verdictsOnRest } from './split-plan.ts'
import type { Stage } from './stage.ts'
import { type PreparedPlan, summarizePlan } from './summarize-plan.ts'
import { pinWarnings } from './warnings.ts'

/** The guard about values in single rows: rows of other people do not hold this person. */
const singleRowGuard = 'unlistedValues'

/** The input of a plan for one person. */
type PlanOnePersonInput = {
  readonly requested: RequestedPerson
  readonly stage: Stage
  readonly signal: AbortSignal
  readonly onProgress?: OnProgress
}

/** The plan of one person, with what it tells the operator who requested it. */
type PersonPlan = PreparedPlan & { readonly account: { readonly person: PersonAccount } }

/**
 * Reads the source to its end and stages what follows for one person. The plan is a delta: everybody else, and the accepted export, stay as
 * they are. Guards that judge the source as a whole apply all the same.
 */
export async function planOnePerson(
  ctx: Pick<SyncContext, 'store' | 'now' | 'yieldToShortWork'>,
  connection: SyncConnection,
  { requested, stage, signal, onProgress = () => {} }: PlanOnePersonInput,
): Promise<PersonPlan> {
  const { db } = ctx.store
  const { identityId } = requested
  const query = { connection: connection.name, isMeant: emailTest(requested) }
  const knownKeys = identityId === undefined ? await findKeysByEmail(db, query) : []
  const meant = identityId === undefined ? requested : await findByFirstKey(db, connection.name, identityId)
  const feed = await openSource(ctx, connection, signal)
  try {
    const inputs = await loadPlanInputs(ctx, connection, feed)
    const person = new PersonWatch({ requested: meant, knownKeys, context: inputs.context })
    const plan = await readForPerson(ctx, connection, { feed, inputs, person, stage, signal, onProgress })
    return await reducePlan(db, connection, { plan, inputs, person, stage })
  } finally {
    await feed.reading.close?.()
  }
}

/** The person whom a key names. If an operator answered that the key is a new key of a person, that person is known by the first key. */
async function findByFirstKey(db: Db, connection: string, identityId: string): Promise<RequestedPerson> {
  return requestedPerson(await resolveKey(db, { connection, identityId }))
}

type ReadForPersonInput = {
  readonly feed: OpenedFeed
  readonly inputs: PlanInputs
  readonly person: PersonWatch
  readonly stage: Stage
  readonly signal: AbortSignal
  readonly onProgress: OnProgress
}

/** Reads the source for the person and judges it as a whole. */
async function readForPerson(
  ctx: Pick<SyncContext, 'store' | 'now' | 'yieldToShortWork'>,
  connection: SyncConnection,
  { feed, inputs, person, stage, signal, onProgress }: ReadForPersonInput,
): Promise<PreparedPlan> {
  const { db } = ctx.store
  const { mapping } = inputs
  const workspace = await openWorkspace(db, connection, { inputs, stage, signal, rows: exportRows, storing: storeEach })
  const outcome = await readFeed(ctx, workspace, {
    inputs,
    onProgress,
    onRow: (row, mapped) => {
      if (mapping.ok) person.addRow(row, mapped, mapping)
    },
    decidePage: (page) => decidePageOfOne(workspace, person, page),
    decideAbsent: () => decideAbsenceOfOne(workspace, person),
  })
  const allKeyChanges = await collectKeyChanges(db, connection.name, outcome.decider)
  const keyChanges = allKeyChanges.filter(
    ({ former, identityId }) => person.isRequested(former) || person.isRequested(identityId),
  )
  const verdicts = await judgePlan(db, connection, { inputs, outcome, keyChanges, countedWith: 'person' })
  const digest = await stage.digest()
  const plan = await summarizePlan(db, connection.name, { inputs, outcome, verdicts, keyChanges, digest })
  if (!mapping.ok) return plan
  const { decider } = outcome
  const pins = await pinWarnings(db, connection, { decider, answers: inputs.answers })
  const header = { headers: feed.reading.headers, columns: mapping.columns }
  return { ...plan, header, warnings: [...plan.warnings, ...pins] }
}

type ReduceInput = {
  readonly plan: PreparedPlan
  readonly inputs: PlanInputs
  readonly person: PersonWatch
  readonly stage: Stage
}

/** Reduces the plan to the one person. Throws if the source does not show who that is, or has nothing about the person. */
async function reducePlan(
  db: Db,
  connection: SyncConnection,
  { plan, inputs, person, stage }: ReduceInput,
): Promise<PersonPlan> {
  const source = requireReadSource(connection, plan)
  const identityId = person.requireKey(source.name)
  await requireKnownOrNamed(db, connection, { identityId, plan, person })
  const rejects = ownRejects(identityId, plan.rejects, person.rejects)
  const { decision } = person
  if (decision === null && rejects.length === 0 && !person.isWaiting)
    throw new Failure(
      'usage',
      `the row that applies to the person does not hold this e-mail address: ask for the key ${identityId}`,
    )
  const verdicts = verdictsOnPerson(plan.guards, rejects)
  const failed = verdicts.filter(({ ok }) => !ok)
  // The person does not change. After a failed guard the export is not trusted, but there is nothing to approve either.
  const isIdle = decision?.change == null
  if (isIdle && failed.length > 0) await stage.drop([identityId])
  const isIncomplete = rejects.some(({ cellOnly }) => cellOnly)
  const rejectedRows = rejects.filter(({ cellOnly }) => !cellOnly)
  const { more: _, ...read } = source
  return {
    ...plan,
    mode: 'delta',
    source: read,
    records: person.rowCount > 0 && rejectedRows.length === 0 ? 1 : 0,
    counts: { ...plan.counts, rejected: rejectedRows.length, incomplete: isIncomplete ? 1 : 0 },
    guards: isIdle ? verdictsOnRest(verdicts) : verdicts,
    rejects,
    endKeys: [],
    account: {
      person: {
        identityId,
        source: source.name,
        asOf: plan.asOf,
        rows: withReasons(person.rows, rejects, decision?.input),
        decision: decision?.change?.kind ?? 'none',
        evidence: [...evidenceOf(person, inputs), ...(isIdle ? failed.map(wouldBeHeld) : [])],
      },
    },
  }
}

/** The source that was read. Fails if it has no new export, or one whose columns are missing. */
function requireReadSource({ name }: SyncConnection, { source, fields, guards }: PreparedPlan) {
  if (source === null)
    throw new Failure(
      'source_unreadable',
      `the source of "${name}" has no new export; \`rollcall person KEY\` shows what is known of a person`,
    )
  const columns = guards.find(({ name: guard, ok }) => guard === 'missingColumn' && !ok)
  if (fields === null && columns)
    throw new Failure('source_unreadable', `no row of ${source.name} can be read: ${columns.reason}`)
  return source
}

type NamedQuery = {
  readonly identityId: string
  readonly plan: Pick<PlanSummary, 'source' | 'rows' | 'rejects'>
  readonly person: PersonWatch
}

/** Fails if neither a row nor the roster has the person. */
async function requireKnownOrNamed(
  db: Db,
  { name: connection }: SyncConnection,
  { identityId, plan, person }: NamedQuery,
): Promise<void> {
  if (person.rowCount > 0 || (await rosterEntry(db, { connection, identityId })) !== null) return
  const source = plan.source?.name ?? ''
  const unreadable = plan.rejects.filter((reject) => reject.identityId === null).length
  const rows = unreadable === 0 ? '' : `; the key of ${unreadable} of its rows cannot be read`
  const similar = person.similarKey(source)
  throw new Failure(
    'not_found',
    `person "${identityId}" is neither in ${source} (${pluralize(plan.rows, 'row')}) nor in the roster of "${connection}"${similar}${rows}`,
  )
}

/** The verdicts that concern the person: unlisted values count only if their own rows have one. */
function verdictsOnPerson(verdicts: readonly Verdict[], rejects: readonly Reject[]): Verdict[] {
  const isOfOthers = ({ name }: Verdict) => name === singleRowGuard && rejects.every(({ unlisted }) => !unlisted)
  return verdicts.flatMap((verdict) => (isOfOthers(verdict) ? verdictsOnRest([verdict]) : verdict))
}

function evidenceOf({ isWaiting, decision }: PersonWatch, { context }: PlanInputs): readonly string[] {
  if (isWaiting) return ['every row of the person takes effect on a later day: until then nothing changes']
  if (decision === null) return ['no row of the person can be used, and they are not known: there is nothing to send']
  return explain(decision, context)
}

function wouldBeHeld({ name, reason = '' }: Verdict): string {
  return `the export as a whole would be held: ${name}: ${reason}`
}

/** The faults of the person's rows, each once. A plan with many rejects does not list all of them, but the watch has those of the person. */
function ownRejects(identityId: string, ofAll: readonly Reject[], ofRows: readonly Reject[]): readonly Reject[] {
  const listed = ofAll.filter((reject) => reject.identityId === identityId)
  return listed.length > 0 ? listed : ofRows
}

/** Adds to each row that does not apply the reason why. */
function withReasons(
  rows: readonly RowAccount[],
  rejects: readonly Reject[],
  input: PersonInput | undefined,
): RowAccount[] {
  const currentLine = typeof input === 'object' ? input.origin.line : null
  return rows.map((row) => {
    const { line } = row.origin
    const reject = rejects.find((one) => !one.cellOnly && one.line === line)
    const outranked = currentLine === null || currentLine === line ? null : 'another row of the person applies'
    return { ...row, reason: row.reason ?? reject?.reason ?? outranked }
  })
}
