import { z } from 'zod'
import { mayDo } from '../../contract/control/access.ts'
import type { PersonSearchResult, peopleOperations } from '../../contract/control/people.ts'
import { Failure } from '../../errors.ts'
import type { Handlers } from '../../http/server/mount.ts'
import type { FieldName } from '../../identity/record.ts'
import { recordAuditEntry } from '../../store/audit/trail.ts'
import { personOf } from '../../store/history/history.ts'
import { resolveKey } from '../../store/key-answers.ts'
import { listLeavers } from '../../store/leavers/list.ts'
import { listBlockedPeople } from '../../store/rejects/blocked-people.ts'
import { forgetPerson } from '../../store/retention/forget.ts'
import { listLeftOut } from '../../store/roster/left-out-people.ts'
import { type RosterSearchResult, searchPeople } from '../../store/roster/search.ts'
import { holdBackOf } from '../../sync/requests/hold-backs.ts'
import { statedDepartureOf } from '../../sync/requests/stated-departures.ts'
import { restorePerson, retractPerson } from '../../sync/sync.ts'
import type { ControlContext } from './control-context.ts'
import { maxSearchMs, readCursor, SearchCursor, writeCursor } from './cursors.ts'
import { holdBackView } from './hold-backs.ts'
import { labelsOf, leaverView } from './leavers.ts'
import { leftOutView } from './left-out.ts'
import { requireConnection, selectedConnections } from './require-connection.ts'
import { scanInTurn } from './scan-turns.ts'
import { statedDepartureView } from './stated-departures.ts'
import { labelOf, namingFields, personView, shownPerson } from './views.ts'
import { roleForValues, type WithActor } from './with-permissions.ts'

const PeopleCursor = SearchCursor.extend({ connection: z.string() })

type PeopleContext = Pick<ControlContext, 'sync' | 'monitored' | 'caller' | 'requestSignal'>

/** Handlers of the operations about people: find, show, retract and forget them. */
export const peopleHandlers: Handlers<typeof peopleOperations, PeopleContext & WithActor> = {
  async searchPeople(ctx, { query: { connection, search, after, limit } }) {
    const connections = selectedConnections(ctx, connection)
    const scope = { list: 'people', connection, search }
    const cursor = readCursor(scope, after, PeopleCursor)
    const { db } = ctx.sync.store
    // A search by values would tell a viewer, letter by letter, what no page shows them.
    const values = mayDo(ctx.caller.role, roleForValues)
    const within = {
      values,
      labelOf: (name: string) => labelOf(ctx.sync, name),
      cursor,
      limit,
      withinMs: maxSearchMs,
    }
    const read = () => searchPeople(db, { connections, search, ...within })
    const { matches, next } = await (search === undefined ? read() : scanInTurn(ctx, read))
    const shown = { act: 'people.searched', connection: connection ?? null, by: ctx.actor.by } as const
    if (values && matches.length > 0)
      await recordAuditEntry(db, { ...shown, details: { people: matches.length }, now: ctx.sync.now() })
    return {
      status: 200,
      body: {
        data: matches.map((one) => matchView(one, values ? namingFields(labelOf(ctx.sync, one.connection)) : [])),
        next: next && writeCursor(scope, next),
      },
    }
  },

  async getPerson(ctx, { params, query }) {
    requireConnection(ctx, params.connection)
    const person = { ...params, identityId: await resolveKey(ctx.sync.store.db, params) }
    const known = await personOf(ctx.sync.store.db, person)
    const holdBack = await holdBackOf(ctx.sync, person)
    if (!known)
      throw new Failure('not_found', `nobody with the key "${params.identityId}" is known in ${params.connection}`)
    const ofPerson = {
      connections: [params.connection],
      identityId: person.identityId,
      now: ctx.sync.now(),
      labels: labelsOf(ctx.sync),
    }
    const leavers = (await listLeavers(ctx.sync.store.db, ofPerson)).map((leaver) => leaverView(ctx, leaver, query))
    const heldBack = holdBack && holdBackView(holdBack)
    const stated = await statedDepartureOf(ctx.sync, person)
    const [leftOut] = await listLeftOut(ctx.sync.store.db, { ...person, now: ctx.sync.now() })
    const blockedBy = (await listBlockedPeople(ctx.sync.store.db, { now: ctx.sync.now(), ...person })).flatMap(
      ({ column, reason, source, line }) => (line === null ? [] : { column, reason, source, line }),
    )
    return {
      status: 200,
      body: {
        ...personView(person, known, query),
        // `unserved` is deprecated: removed after 0.1.
        ...(blockedBy.length > 0 && { blockedBy, unserved: blockedBy }),
        leavers,
        ...(leftOut && { leftOut: leftOutView(leftOut) }),
        heldBack,
        statedDeparture: stated && statedDepartureView(stated),
      },
    }
  },

  async retractPerson(ctx, { params, body }) {
    requireConnection(ctx, params.connection)
    return { status: 201, body: await retractPerson(ctx.sync, { ...params, ...body, ...ctx.actor }) }
  },

  async withdrawRetraction(ctx, { params }) {
    requireConnection(ctx, params.connection)
    return { status: 201, body: await restorePerson(ctx.sync, { ...params, ...ctx.actor }) }
  },

  async forgetPerson(ctx, { params, body }) {
    requireConnection(ctx, params.connection)
    const now = ctx.sync.now()
    const today = now.toISOString().slice(0, 'yyyy-mm-dd'.length)
    const changes = await forgetPerson(ctx.sync.store.db, { ...params, ...body, by: ctx.actor.by, today, now })
    return { status: 200, body: { identityId: params.identityId, changes } }
  },
}

function matchView(
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
