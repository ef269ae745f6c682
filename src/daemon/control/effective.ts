import { z } from 'zod'
import {
  type EffectiveCoverage,
  type EffectiveFinding,
  effectiveCauses,
  type effectiveOperations,
} from '../../contract/control/effective.ts'
import { deliveryFailures } from '../../contract/failures.ts'
import { Failure } from '../../errors.ts'
import type { Handlers } from '../../http/server/mount.ts'
import type { EffectiveCause, Evidence } from '../../identity/effective/cause.ts'
import { pluralize } from '../../identity/pluralize.ts'
import {
  type Coverage,
  comparisonOfDirectory,
  findComparison,
  listCoverage,
} from '../../store/effective/comparisons.ts'
import {
  countFindings,
  type FindingPosition,
  listFindings,
  type StoredFinding,
} from '../../store/effective/findings.ts'
import {
  compareDirectories,
  compareDirectory,
  compareEffective,
  compareGivenAccounts,
  fixEffective,
  type SyncContext,
} from '../../sync/sync.ts'
import { nextCursor, readCursor } from './cursors.ts'
import { requireConnection } from './require-connection.ts'
import { secondsSince } from './views.ts'
import type { WithActor } from './with-permissions.ts'

type EffectiveContext = { readonly sync: SyncContext; readonly signal: AbortSignal } & WithActor

const FindingCursor = z.strictObject({
  connection: z.string(),
  personConnection: z.string(),
  subject: z.string(),
  cause: z.enum(Object.keys(effectiveCauses) as [EffectiveCause, ...EffectiveCause[]]),
})

/** Handlers of the operations about people whose status on the platform does not match HR's data. */
export const effectiveHandlers: Handlers<typeof effectiveOperations, EffectiveContext> = {
  async listEffective({ sync }, { query: { connection, cause, person, after, limit, values } }) {
    const { directories = new Map() } = sync
    if (connection !== undefined && !directories.has(connection)) requireConnection({ sync }, connection)
    const connections = connection === undefined ? [...sync.connections.keys(), ...directories.keys()] : [connection]
    const scope = { list: 'effective', connection, cause, person }
    const cursor = readCursor(scope, after, FindingCursor)
    const rows = await listFindings(sync.store.db, {
      connections,
      ...(cause !== undefined && { cause }),
      ...(person !== undefined && { keys: [person] }),
      ...(cursor !== undefined && { after: cursor }),
      limit,
    })
    const now = sync.now()
    const data = rows.map((row) => findingView(row, { values, now }))
    return { status: 200, body: { data, next: nextCursor(scope, { rows, limit }, positionOf) } }
  },

  async effectiveCoverage({ sync }) {
    return { status: 200, body: await coverageOf(sync) }
  },

  async compareEffective({ sync, signal }, { query: { directory: name } }) {
    if (name !== undefined) {
      const directory = sync.directories?.get(name)
      if (!directory) throw new Failure('not_found', `there is no directory "${name}" in the configuration`)
      if ((await compareDirectory(sync, directory, { always: true, signal })) === null) throw isRunning
      return { status: 200, body: await coverageOf(sync) }
    }
    const result = await compareEffective(sync, { always: true, signal })
    const others = await compareDirectories(sync, { always: true, signal })
    if (result === null) throw isRunning
    if (others.length > 0)
      throw new Failure('conflict', `${others.join(', ')}: compared by another process; look again in some minutes`)
    return { status: 200, body: await coverageOf(sync) }
  },

  async compareAccounts({ sync }, { body: { accounts, asOf, directory }, query: { values } }) {
    const now = sync.now()
    const lists = accounts.map(({ id, ...account }) => ({ id, ...account }))
    const list = { directory, accounts: lists, asOf: asOf === undefined ? now : new Date(asOf), now }
    const { people, findings } = await compareGivenAccounts(sync, list)
    const seen = { firstSeenAt: now, lastSeenAt: now }
    const views = findings.map((finding) => findingView({ ...finding, ...seen }, { values, now }))
    return { status: 200, body: { accounts: accounts.length, people, findings: views } }
  },

  async fixEffective({ sync, signal, actor: { by } }, { body }) {
    return { status: 200, body: await fixEffective(sync, { ...body, by, signal }) }
  },
}

const isRunning = new Failure('conflict', 'a comparison is running already; look again in some minutes')

function positionOf({ connection, personConnection, subject, cause }: StoredFinding): FindingPosition {
  return { connection, personConnection, subject, cause }
}

function findingView(
  { subject, identityId, name, evidence, firstSeenAt, cause, ...finding }: StoredFinding,
  { values, now }: { readonly values: boolean; readonly now: Date },
): EffectiveFinding {
  const { connection, personConnection, personId, canReset } = finding
  return {
    connection,
    personConnection,
    person: subject,
    identityId,
    personId,
    ...(values && { name: name ?? evidence.values?.logins?.[0] ?? null }),
    cause,
    text: effectiveCauses[cause].text,
    evidence: [evidenceText(evidence, values), ...nextSyncText(cause, evidence, now)].join(' · '),
    helps: effectiveCauses[cause].helps,
    canReset,
    firstSeenAt: firstSeenAt.toISOString(),
    ageSeconds: secondsSince(firstSeenAt.toISOString(), now),
  }
}

/** The platform's identity sync runs once a night. */
const syncEveryMs = 24 * 60 * 60_000

function nextSyncText(cause: EffectiveCause, { at }: Evidence, now: Date): string[] {
  if (cause !== 'not_synced' || !at) return []
  const nextAt = new Date(Date.parse(at) + syncEveryMs)
  const next = nextAt < now ? 'is overdue since' : 'is usually due by'
  return [`that was the newest identity sync; the next ${next} ${minuteOf(nextAt.toISOString())}`]
}

function minuteOf(at: string): string {
  return `${at.slice(0, 16).replace('T', ' ')} UTC`
}

/** The minute of an instant. A text of another form, which may be a name, is shown with values only, as the directory wrote it. */
function momentOf(text: string, withValues: boolean): string {
  if (/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}.*Z$/.test(text)) return minuteOf(text)
  return withValues ? text.slice(0, 40) : 'not read as a time'
}

const notes: Readonly<Record<NonNullable<Evidence['note']>, string>> = {
  no_email: 'HR states no e-mail',
  several_owners: 'its number and addresses are of different people',
  row_waits: 'HR has a row with its number or address that is not accepted yet',
  by_name: 'one person has the name and another e-mail',
  several: 'several people have the name and other e-mails',
  record_differs: 'the record on the platform was changed since it was delivered',
  record_left: 'the record on the platform has a leaving date',
  identity_provider: 'an identity provider',
  never: 'no identity sync has ever run',
}

/** `SPECIAL_FORMER_EMPLOYEE` as `former employee, set on purpose`. */
function statusText(status: string): string {
  const [, special, rest = ''] = /^(SPECIAL_)?(.*)$/s.exec(status) ?? []
  return `${rest.replaceAll('_', ' ').toLowerCase()}${special === undefined ? '' : ', set on purpose'}`
}

const fieldTexts: Readonly<Record<string, string>> = { startedAt: 'first day', separatedAt: 'last day' }

/** `employmentStatus` as `employment status`. */
function fieldText(field: string): string {
  return fieldTexts[field] ?? field.replaceAll(/([A-Z])/g, ' $1').toLowerCase()
}

function dayOf(at: string | null): string {
  return at === null ? 'none' : at.slice(0, 10)
}

/** The evidence in one line. Personal values only if they are asked for. */
function evidenceText(evidence: Evidence, withValues: boolean): string {
  const { expected, shown, fields, at, note, otherConnectionId, otherKey, otherPeople, values } = evidence
  const { emails = [], logins = [], by, reason } = (withValues && values) || {}
  const { leftAt, lastSignInAt, accounts = 1, candidateKeys = [], dates = [] } = evidence
  const parts = [
    leftAt && `left ${leftAt.slice(0, 10)}`,
    accounts > 1 && pluralize(accounts, 'account'),
    lastSignInAt !== undefined &&
      (lastSignInAt ? `last sign-in ${momentOf(lastSignInAt, withValues)}` : 'no sign-in is known'),
    candidateKeys.length > 0 && `the name matches key ${candidateKeys.join(', ')}, but a name alone proves nothing`,
    logins.length > 0 && logins.join(', '),
    expected !== undefined && `expected from HR's data: ${statusText(expected)}`,
    shown !== undefined && `shown: ${statusText(shown)}`,
    note !== undefined && notes[note],
    fields !== undefined && `edited: ${fields.map(fieldText).join(', ')}`,
    ...dates.map(
      (date) => `${fieldText(date.field)} is ${dayOf(date.expected)} in HR, and is shown as ${dayOf(date.shown)}`,
    ),
    at && minuteOf(at),
    otherConnectionId !== undefined && `connection ${otherConnectionId} of the platform`,
    otherKey !== undefined && `key ${otherKey}`,
    otherPeople !== undefined && otherPeople.length > 0 && `person ${otherPeople.join(', ')} of the platform`,
    emails.length > 0 && emails.join(', '),
    by && `by ${by}`,
    reason && `reason: ${reason}`,
  ]
  return parts.filter((part) => typeof part === 'string' && part !== '').join(' · ')
}

async function coverageOf({ store: { db }, platform, connections, ...sync }: SyncContext): Promise<EffectiveCoverage> {
  const [comparison, coverage, counts] = [
    await findComparison(db, platform.baseUrl),
    await listCoverage(db),
    await countFindings(db),
  ]
  const causesOf = (name: string) => {
    const own = counts.filter(({ connection }) => connection === name)
    return Object.fromEntries(own.map(({ cause, count }) => [cause, count]))
  }
  const directories = await Promise.all(
    [...(sync.directories?.keys() ?? [])].map(async (directory) => ({
      directory,
      ...(await listView(db, directory, coverage)),
      causes: causesOf(directory),
    })),
  )
  return {
    comparedAt: comparison?.comparedAt?.toISOString() ?? null,
    syncedAt: comparison?.syncedAt?.toISOString() ?? null,
    requests: comparison?.requests ?? 0,
    failure: failureText(comparison?.failure ?? null),
    connections: coverage
      .filter(({ connection }) => connections.has(connection))
      .map(({ connection, people, effective, at }) => {
        const causes = causesOf(connection)
        return {
          connection,
          comparedAt: at.toISOString(),
          people,
          effective,
          percent: people === 0 ? 100 : Math.floor((1000 * effective) / people) / 10,
          findings: Object.values(causes).reduce((sum, count) => sum + count, 0),
          causes,
        }
      }),
    directories,
  }
}

/** Why a comparison could not be finished, in words. */
function failureText(code: string | null): string | null {
  if (code === null) return null
  if (code === 'person_missing') return 'the platform does not offer the list of its personnel (404)'
  if (code === 'timed_out') return 'the platform did not answer in time'
  const known = Object.entries(deliveryFailures).find(([name]) => name === code)
  return known?.[1].when ?? 'of an unexpected error, which the log of the daemon has'
}

async function listView(db: SyncContext['store']['db'], directory: string, coverage: readonly Coverage[]) {
  const comparison = await findComparison(db, comparisonOfDirectory(directory))
  return {
    comparedAt: comparison?.comparedAt?.toISOString() ?? null,
    asOf: comparison?.syncedAt?.toISOString() ?? null,
    accounts: coverage.find(({ connection }) => connection === directory)?.people ?? 0,
    unreadable: comparison?.unreadable ?? 0,
    failure: comparison?.failure ?? null,
  }
}
