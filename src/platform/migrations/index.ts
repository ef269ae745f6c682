import type { Migration } from '../../database/database.ts'
import { accounts } from './0001-accounts.ts'
import { connections } from './0002-connections.ts'
import { identities } from './0003-identities.ts'
import { personnel } from './0004-personnel.ts'
import { events } from './0005-events.ts'
import { records } from './0006-records.ts'

export const migrations: readonly Migration[] = [accounts, connections, identities, personnel, events, records]
