import type { Migration } from '../../database/database.ts'
import { accounts } from './0001-accounts.ts'
import { connections } from './0002-connections.ts'
import { identities } from './0003-identities.ts'
import { personnel } from './0004-personnel.ts'
import { events } from './0005-events.ts'
import { records } from './0006-records.ts'
import { inventory } from './0007-inventory.ts'
import { controls } from './0008-controls.ts'
import { audits } from './0009-audits.ts'
import { people } from './0010-people.ts'
import { operators } from './0011-operators.ts'
import { keyAddresses } from './0012-key-addresses.ts'
import { givenFields } from './0013-given-fields.ts'
import { foldCase } from './0014-fold-case.ts'
import { evidenceFiles } from './0015-evidence-files.ts'
import { wordBytes } from './0016-word-bytes.ts'

export const migrations: readonly Migration[] = [
  accounts,
  connections,
  identities,
  personnel,
  events,
  records,
  inventory,
  controls,
  audits,
  people,
  operators,
  keyAddresses,
  givenFields,
  foldCase,
  evidenceFiles,
  wordBytes,
]
