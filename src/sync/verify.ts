import type { Identity } from '../contract/hris-user-identities.ts'
import { Failure } from '../errors.ts'
import { fieldNames, type IdentityRecord } from '../identity/record.ts'
import { rosterEntries, rosterKeys, setConfirmed } from '../store/roster.ts'
import type { Verification } from '../store/schema.ts'
import type { Stop } from './answers.ts'
import type { SyncConnection, SyncContext } from './context.ts'
import { type Lane, listIdentities } from './send.ts'
import { resolveTarget } from './target.ts'

/**
 * Reads the platform's whole list and makes `confirmed` what is really there, so that the plan which follows repairs every
 * difference. People whom the platform holds and HR never named are counted and left alone: absence never deletes.
 */
export async function verifyAgainstPlatform(
  ctx: SyncContext,
  connection: SyncConnection,
  signal: AbortSignal,
): Promise<Verification> {
  const { db } = ctx.store
  const target = await resolveTarget(ctx, connection, signal)
  if (typeof target !== 'number') throw asFailure(connection, target)
  const lane: Lane = { platform: ctx.platform, connectionId: target, signal, requests: 0 }
  const found = new Set<string>()
  const tally = { listed: 0, lost: 0, changed: 0, foreign: 0 }

  const stop = await listIdentities(lane, async (identities) => {
    const known = await rosterEntries(db, {
      connection: connection.name,
      identityIds: identities.map(({ identityId }) => identityId),
    })
    const differing: { identityId: string; confirmed: IdentityRecord }[] = []
    for (const identity of identities) {
      found.add(identity.identityId)
      tally.listed++
      const entry = known.get(identity.identityId)
      if (!entry || entry.retracted) {
        tally.foreign++
        continue
      }
      const actual = asRecord(identity, entry.confirmed ?? entry.wanted ?? { identityId: identity.identityId })
      if (entry.confirmed && same(actual, entry.confirmed)) continue
      if (entry.confirmed) tally.changed++
      differing.push({ identityId: identity.identityId, confirmed: actual })
    }
    await setConfirmed(db, { connection: connection.name, found: differing, now: ctx.now() })
  })
  if (stop) throw asFailure(connection, stop)

  for await (const keys of rosterKeys(db, connection.name)) {
    const unlisted = keys.filter((key) => !found.has(key))
    const entries = await rosterEntries(db, { connection: connection.name, identityIds: unlisted })
    const lost = [...entries.values()].filter(({ confirmed }) => confirmed !== null)
    tally.lost += lost.length
    await setConfirmed(db, {
      connection: connection.name,
      found: lost.map(({ identityId }) => ({ identityId, confirmed: null })),
      now: ctx.now(),
    })
  }
  return tally
}

/** What the platform holds of a person, in the fields that we keep. */
function asRecord(identity: Identity, kept: IdentityRecord): IdentityRecord {
  const fields = fieldNames.filter((field) => kept[field] !== undefined).map((field) => [field, identity[field]])
  return { identityId: identity.identityId, ...Object.fromEntries(fields) }
}

function same(a: IdentityRecord, b: IdentityRecord): boolean {
  return fieldNames.every((field) => a[field] === b[field])
}

function asFailure(connection: SyncConnection, stop: Stop): Failure {
  const code = stop.kind === 'blocked' ? 'blocked' : 'platform_unreachable'
  return new Failure(code, `connection "${connection.name}" cannot be verified: ${stop.message}`)
}
