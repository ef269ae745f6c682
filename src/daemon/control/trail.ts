import type { TrailEntry, trailOperations, UnsignedEntries } from '../../contract/control/trail.ts'
import { Failure } from '../../errors.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { countPending, type NumberedEntry, newestEntries, recentActors } from '../../store/audit/read.ts'
import { auditActs } from '../../store/audit/trail.ts'
import { connectionNames } from '../../store/connections/connections.ts'
import { keysOfPerson } from '../../store/key-answers.ts'
import type { SyncContext } from '../../sync/context/context.ts'
import type { AuditService } from '../audit/service.ts'
import { maxSearchMs, NumberCursor, readCursor, writeCursor } from './cursors.ts'
import { type ScanContext, scanInTurn } from './scan-turns.ts'

type TrailContext = ScanContext & { readonly sync: SyncContext; readonly audit: Pick<AuditService, 'seal' | 'trouble'> }

/** Handlers of the operations that read the audit trail. */
export const trailHandlers: Handlers<typeof trailOperations, TrailContext> = {
  async readAudit(ctx, { query: { after, limit, from, to, identityId, ...others } }) {
    const { sync, audit } = ctx
    const scope = { list: 'audit', from, to, identityId, ...others }
    const { db } = sync.store
    const filter = {
      ...others,
      ...(from && { from: new Date(from) }),
      ...(to && { to: new Date(to) }),
      ...(identityId && { people: await keysOfPerson(db, { connection: others.connection, identityId }) }),
    }
    const before = readCursor(scope, after, NumberCursor)
    // Without a key nothing is added; entries signed before can still be read.
    if (before === undefined) await audit.seal().catch(unlessFailure)
    const read = () => newestEntries(db, filter, { before, limit, withinMs: maxSearchMs })
    const isNarrowed = Object.values(filter).some((value) => value !== undefined)
    const { entries, next } = await (isNarrowed ? scanInTurn(ctx, read) : read())
    return {
      status: 200,
      body: {
        data: entries.map(entryView),
        next: next === null ? null : writeCursor(scope, next),
        unsigned: await unsignedEntries(ctx),
      },
    }
  },

  async listAuditChoices({ sync }) {
    const { db } = sync.store
    return {
      status: 200,
      body: {
        acts: Object.entries(auditActs).map(([act, says]) => ({ act, says })),
        by: await recentActors(db),
        connections: [...new Set([...sync.connections.keys(), ...(await connectionNames(db))])].sort(),
      },
    }
  },
}

async function unsignedEntries({ sync, audit }: TrailContext): Promise<UnsignedEntries | null> {
  const reason = audit.trouble()
  return reason === null ? null : { entries: await countPending(sync.store.db), reason }
}

function unlessFailure(error: unknown): void {
  if (!(error instanceof Failure)) throw error
}

function entryView({ ordinal, at, act, by, connection, runId, identityId, details }: NumberedEntry): TrailEntry {
  const descriptions: Readonly<Record<string, string>> = auditActs
  return {
    ordinal,
    at,
    act,
    says: descriptions[act] ?? null,
    by,
    connection,
    runId: runId ?? null,
    identityId: identityId ?? null,
    details: { ...details },
  }
}
