import { type RawBuilder, sql } from 'kysely'

type ControlFilters = {
  readonly isMonitored?: boolean
  readonly isReady?: boolean
  readonly hasEvidence?: boolean
  readonly hasPolicy?: boolean
  readonly hasPassingTest?: boolean
  readonly isEnabled?: boolean
  readonly isArchived?: boolean
  readonly ticketStatus?: 'IN_PROGRESS' | 'ARCHIVED'
  readonly policyId?: number
}

type Condition = RawBuilder<boolean>

// Both turn `from … where …` into the condition that such a row exists. PostgreSQL may turn `exists` into a join, which suits the filter
// of a long list, but then it may read the whole table before the first control. A subquery with `limit` is always an index lookup
// for one control, also while the statistics are outdated after a first load.
const existsByJoin = (from: RawBuilder<unknown>): Condition => sql`exists (select ${from})`
const existsByLookup = (from: RawBuilder<unknown>): Condition => sql`(select true ${from} limit 1) is not null`

const owners = sql`from control_owners where control_owners.control_id = controls.id`
const policies = sql`from control_policies where control_policies.control_id = controls.id`
const evidence = sql`from control_evidence where control_evidence.control_id = controls.id`
const tests = sql`from control_tests where control_tests.control_id = controls.id`
const joinedTests = sql`
  from control_tests join tests on tests.id = control_tests.test_id where control_tests.control_id = controls.id
`
const passes = sql`(select tests.status from tests where tests.id = control_tests.test_id) = 'PASSED'`
const isMonitored = sql`(select tests.is_monitored from tests where tests.id = control_tests.test_id)`

/** The flags of a control on a day (YYYY-MM-DD), as columns of a query of `controls`. */
export function controlFlags(day: string) {
  return {
    hasEvidence: existsByLookup(evidence),
    hasPolicy: existsByLookup(policies),
    hasOwner: existsByLookup(owners),
    hasTicket: sql<boolean>`controls.ticket_status is not null`,
    isMonitored: existsByLookup(sql`${tests} and ${isMonitored}`),
    isReady: readiness(day),
  }
}

/** The filters of a list of controls as further conditions; each begins with `and`. */
export function filterConditions(filters: ControlFilters, day: string): RawBuilder<unknown> {
  const { ticketStatus, policyId } = filters
  const flags: readonly (readonly [boolean | undefined, Condition])[] = [
    [filters.isMonitored, existsByJoin(sql`${joinedTests} and tests.is_monitored`)],
    [filters.hasEvidence, existsByJoin(evidence)],
    [filters.hasPolicy, existsByJoin(policies)],
    [filters.hasPassingTest, existsByJoin(sql`${joinedTests} and tests.status = 'PASSED'`)],
    [filters.isEnabled, sql`controls.is_enabled`],
    [filters.isArchived, sql`controls.archived_at is not null`],
    [filters.isReady, readiness(day)],
  ]
  const conditions = flags.flatMap(([value, condition]) =>
    value === undefined ? [] : [value ? sql` and ${condition}` : sql` and not ${condition}`],
  )
  if (ticketStatus !== undefined) conditions.push(sql` and controls.ticket_status = ${ticketStatus}`)
  if (policyId !== undefined) {
    conditions.push(sql` and ${existsByJoin(sql`${policies} and control_policies.policy_id = ${policyId}::bigint`)}`)
  }
  return sql.join(conditions, sql``)
}

/** A control is ready if it has an owner, a proof, and no failed test or invalid evidence. */
function readiness(day: string): Condition {
  const isValid = sql`(
    select coalesce(evidence.valid_until >= ${day}::date, true) from evidence where evidence.id = control_evidence.evidence_id
  )`
  const isProven = [policies, sql`${tests} and ${passes}`, sql`${evidence} and ${isValid}`].map(existsByLookup)
  const isRefuted = [sql`${tests} and not ${passes}`, sql`${evidence} and not ${isValid}`].map(existsByLookup)
  return sql`(${existsByLookup(owners)} and (${sql.join(isProven, sql` or `)}) and not (${sql.join(isRefuted, sql` or `)}))`
}
