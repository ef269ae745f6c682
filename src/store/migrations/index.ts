import type { Migration } from '../../database/database.ts'
import { connections } from './0001-connections.ts'
import { runs } from './0002-runs.ts'
import { roster } from './0003-roster.ts'
import { plans } from './0004-plans.ts'
import { deliveries } from './0005-deliveries.ts'
import { inbox } from './0006-inbox.ts'
import { alerts } from './0007-alerts.ts'
import { audit } from './0008-audit.ts'
import { leavers } from './0010-leavers.ts'
import { keys } from './0011-keys.ts'
import { runAccounts } from './0013-run-accounts.ts'
import { holdBacks } from './0014-hold-backs.ts'
import { installation } from './0016-installation.ts'
import { inDoubt } from './0017-in-doubt.ts'
import { access } from './0018-access.ts'
import { sourceHeaders } from './0019-source-headers.ts'
import { pauses } from './0020-pauses.ts'
import { headcounts } from './0021-headcounts.ts'
import { records } from './0022-records.ts'
import { writePath } from './0023-write-path.ts'
import { exportIndexes } from './0024-export-indexes.ts'
import { followedEntries } from './0025-followed-entries.ts'
import { indexPieces } from './0026-index-pieces.ts'
import { listedSources } from './0027-listed-sources.ts'
import { eventTimes } from './0028-event-times.ts'
import { silentExports } from './0029-silent-exports.ts'
import { waitingRows } from './0030-waiting-rows.ts'
import { overtakenEvents } from './0031-overtaken-events.ts'
import { platformOutages } from './0032-platform-outages.ts'
import { recentAttempts } from './0033-recent-attempts.ts'
import { foreignPeople } from './0034-foreign-people.ts'

/** Numbered files in order. Once released, a file stays as it is. */
export const migrations: readonly Migration[] = [
  connections,
  runs,
  roster,
  plans,
  deliveries,
  inbox,
  alerts,
  audit,
  leavers,
  keys,
  runAccounts,
  holdBacks,
  installation,
  inDoubt,
  access,
  sourceHeaders,
  pauses,
  headcounts,
  records,
  writePath,
  exportIndexes,
  followedEntries,
  indexPieces,
  listedSources,
  eventTimes,
  silentExports,
  waitingRows,
  overtakenEvents,
  platformOutages,
  recentAttempts,
  foreignPeople,
]
