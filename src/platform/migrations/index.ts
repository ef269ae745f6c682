import type { Migration } from '../../database/database.ts'
import { accountTables } from './initial/accounts.ts'
import { auditTables } from './initial/audits.ts'
import { catalogueTables } from './initial/catalogue.ts'
import { connectionTables } from './initial/connections.ts'
import { controlTables } from './initial/controls.ts'
import { eventTables } from './initial/events.ts'
import { searchFunctions } from './initial/functions.ts'
import { groupTables } from './initial/groups.ts'
import { identityTables } from './initial/identities.ts'
import { inventoryTables } from './initial/inventory.ts'
import { operatorTables } from './initial/operators.ts'
import { peopleEvidenceTables } from './initial/people-evidence.ts'
import { personnelTables } from './initial/personnel.ts'
import { personnelSearchTable } from './initial/personnel-search.ts'
import { recordTables } from './initial/records.ts'
import { roleTables } from './initial/roles.ts'

/** All tables of the first release. Tables follow those that they refer to. */
const initial: Migration = {
  name: '0001-initial',
  sql: [
    searchFunctions,
    roleTables,
    accountTables,
    connectionTables,
    identityTables,
    personnelTables,
    groupTables,
    personnelSearchTable,
    eventTables,
    recordTables,
    inventoryTables,
    catalogueTables,
    controlTables,
    peopleEvidenceTables,
    auditTables,
    operatorTables,
  ].join(''),
}

/** In order of their numbers. Once released, a migration never changes; a later release adds the next number. */
export const migrations: readonly Migration[] = [initial]
