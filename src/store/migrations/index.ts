import type { Migration } from '../../database/database.ts'
import { approvalParts } from './approval-parts.ts'
import { departureProposals } from './departure-proposals.ts'
import { effectiveComparisons } from './effective-comparisons.ts'
import { eventFaults } from './event-faults.ts'
import { accessTables } from './initial/access.ts'
import { alertTables } from './initial/alerts.ts'
import { auditTables } from './initial/audit.ts'
import { connectionTables } from './initial/connections.ts'
import { deliveryTables } from './initial/deliveries.ts'
import { effectiveTables } from './initial/effective.ts'
import { exportIndexTables } from './initial/export-indexes.ts'
import { inboxTables } from './initial/inbox.ts'
import { leaverTables } from './initial/leavers.ts'
import { planTables } from './initial/plans.ts'
import { rejectTables } from './initial/rejects.ts'
import { rosterTables } from './initial/roster.ts'
import { runTables } from './initial/runs.ts'
import { scimTables } from './initial/scim.ts'
import { statementTables } from './initial/statements.ts'
import { leftOutSince } from './left-out-since.ts'
import { planOrders } from './plan-orders.ts'
import { proposalTimes } from './proposal-times.ts'
import { restoredStatements } from './restored-statements.ts'
import { settingsChanges } from './settings-changes.ts'
import { settingsWrites } from './settings-writes.ts'
import { unapprovedKinds } from './unapproved-kinds.ts'
import { unapprovedPeople } from './unapproved-people.ts'
import { weeklyMails } from './weekly-mails.ts'

/** All tables of the first release. Tables follow those that they refer to. */
const initial: Migration = {
  name: '0001-initial',
  sql: [
    connectionTables,
    runTables,
    rejectTables,
    rosterTables,
    planTables,
    deliveryTables,
    inboxTables,
    scimTables,
    leaverTables,
    effectiveTables,
    exportIndexTables,
    alertTables,
    auditTables,
    accessTables,
    statementTables,
  ].join(''),
}

/** In order of their numbers. Once released, a migration never changes; a later release adds the next number. */
export const migrations: readonly Migration[] = [
  initial,
  effectiveComparisons,
  approvalParts,
  departureProposals,
  restoredStatements,
  proposalTimes,
  planOrders,
  eventFaults,
  weeklyMails,
  settingsChanges,
  settingsWrites,
  unapprovedPeople,
  leftOutSince,
  unapprovedKinds,
]
