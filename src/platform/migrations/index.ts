import type { Migration } from '../../database/database.ts'
import { accounts } from './0001-accounts.ts'
import { connections } from './0002-connections.ts'
import { identities } from './0003-identities.ts'
import { personnel } from './0004-personnel.ts'
import { operators } from './0011-operators.ts'

export const migrations: readonly Migration[] = [accounts, connections, identities, personnel, operators]
