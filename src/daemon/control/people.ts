import { z } from 'zod'
import type { PersonSearchResult, peopleOperations } from '../../contract/control/people.ts'
import type { Handlers } from '../../http/server/mount.ts'
import type { FieldName } from '../../identity/record.ts'
import { recordAuditEntry } from '../../store/audit/trail.ts'
import { type RosterSearchResult, searchPeople } from '../../store/roster/search.ts'
import type { SyncContext } from '../../sync/context/context.ts'
import { readCursor, SearchCursor, searchWithinMs, writeCursor } from './cursors.ts'
import { connectionsMeant } from './require-connection.ts'
import type { Acting } from './permitted.ts'
import { labelOf, namingFields, shownPerson } from './views.ts'

const PeoplePlace = SearchCursor.extend({ connection: z.string() })

/** The control API's part about finding people. */
export const peopleHandlers: Handlers<typeof peopleOperations, { readonly sync: SyncContext } & Acting> = {
  async searchPeople(ctx, { query: { connection, search, after, limit } }) {
    const connections = connectionsMeant(ctx, connection)
    const scope = { list: 'people', connection, search }
    const place = readCursor(scope, after, PeoplePlace)
    const { db } = ctx.sync.store
    const { found, next } = await searchPeople(db, { connections, search, place, limit, withinMs: searchWithinMs })
    const shown = { act: 'people.searched', connection: connection ?? null, by: ctx.actor.by } as const
    if (found.length > 0)
      await recordAuditEntry(db, { ...shown, details: { people: found.length }, now: ctx.sync.now() })
    return {
      status: 200,
      body: {
        data: found.map((one) => foundView(one, namingFields(labelOf(ctx.sync, one.connection)))),
        next: next && writeCursor(scope, next),
      },
    }
  },
}

function foundView(
  { connection, identityId, desired, isRetracted, by }: RosterSearchResult,
  naming: readonly FieldName[],
): PersonSearchResult {
  const state = isRetracted ? 'retracted' : desired.separatedAt ? 'left' : 'employed'
  return {
    connection,
    identityId,
    by,
    state,
    person: shownPerson(desired, [...naming, 'startedAt', 'separatedAt']),
  }
}
