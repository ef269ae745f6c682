import { type RawBuilder, sql } from 'kysely'

export type ControlFilters = {
  readonly isMonitored?: boolean | undefined
  readonly isReady?: boolean | undefined
  readonly hasEvidence?: boolean | undefined
  readonly hasPolicy?: boolean | undefined
  readonly hasPassingTest?: boolean | undefined
  readonly isEnabled?: boolean | undefined
  readonly isArchived?: boolean | undefined
  readonly ticketStatus?: 'IN_PROGRESS' | 'ARCHIVED' | undefined
  readonly policyId?: number | undefined
}

type Condition = RawBuilder<boolean>

const hasPolicy: Condition = sql`exists (select from control_policies where control_id = controls.id)`
const hasEvidence: Condition = sql`exists (select from control_evidence where control_id = controls.id)`
const hasOwner: Condition = sql`exists (select from control_owners where control_id = controls.id)`
const hasPassingTest = withTest(sql`tests.status = 'PASSED'`)
const hasFailingTest = withTest(sql`tests.status = 'FAILED'`)
const isMonitored = withTest(sql`tests.is_monitored`)

/** What is true of a row of `controls` on a day, as conditions of a query over that table. */
export function controlFlags(day: string) {
  const isValid: Condition = sql`(evidence.valid_until is null or evidence.valid_until >= ${day}::date)`
  const isProven: Condition = sql`(${hasPolicy} or ${hasPassingTest} or ${withEvidence(isValid)})`
  const isRefuted: Condition = sql`(${hasFailingTest} or ${withEvidence(sql`not ${isValid}`)})`
  return {
    hasEvidence,
    hasPolicy,
    hasOwner,
    hasPassingTest,
    isMonitored,
    isReady: sql`(${hasOwner} and ${isProven} and not ${isRefuted})`,
    hasTicket: sql`controls.ticket_status is not null`,
    isEnabled: sql`controls.is_enabled`,
    isArchived: sql`controls.archived_at is not null`,
  } satisfies Readonly<Record<string, Condition>>
}

/** The filters of a list of controls, as further conditions that begin with `and`. */
export function matching({ ticketStatus, policyId, ...flags }: ControlFilters, day: string): RawBuilder<unknown> {
  const conditions = controlFlags(day)
  const wanted = Object.entries(flags).flatMap(([name, value]) => {
    if (value === undefined) return []
    const condition: Condition = conditions[name as keyof typeof flags]
    return value ? [sql` and ${condition}`] : [sql` and not ${condition}`]
  })
  if (ticketStatus !== undefined) wanted.push(sql` and controls.ticket_status = ${ticketStatus}`)
  if (policyId !== undefined) {
    wanted.push(sql`
      and exists (select from control_policies where control_id = controls.id and policy_id = ${policyId}::bigint)
    `)
  }
  return sql.join(wanted, sql``)
}

function withTest(condition: Condition): Condition {
  return sql`exists (
    select from control_tests join tests on tests.id = control_tests.test_id
    where control_tests.control_id = controls.id and ${condition}
  )`
}

function withEvidence(condition: Condition): Condition {
  return sql`exists (
    select from control_evidence join evidence on evidence.id = control_evidence.evidence_id
    where control_evidence.control_id = controls.id and ${condition}
  )`
}
