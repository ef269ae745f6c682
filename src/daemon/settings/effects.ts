import { isDeepStrictEqual } from 'node:util'
import type { SettingsEffect } from '../../contract/control/settings-changes.ts'
import { Failure } from '../../errors.ts'
import { acceptedSource } from '../../store/connections/sources.ts'
import type { Config, ConnectionConfig } from '../config/config.ts'
import type { VisitParts } from '../proposal/first-parts.ts'
import { planList } from '../proposal/plan-list.ts'
import { type ChangedPeople, type ComparedPlan, changedPeople } from './changed-people.ts'
import { sectionOf } from './sections.ts'

type Compared = {
  readonly connection: string
  /** The configuration as it is, and as it would be. */
  readonly before: Config
  readonly after: Config
}
type Parts = Pick<VisitParts, 'sync' | 'toSync' | 'signal'>

/** What runs with two settings would do, and for whom it makes a difference. */
export type Comparison = ChangedPeople & {
  /** Null: the connection is new, or `beforeTrouble` says why it is not known. */
  readonly before: SettingsEffect | null
  readonly beforeTrouble: string | null
  readonly after: SettingsEffect
  /** Another export arrived, or a run was accepted, between the two readings. */
  readonly hasSourceChanged: boolean
}

/** `effect` null: `effectTrouble` says why it is not known. */
type KnownEffect = { readonly effect: Comparison | null; readonly effectTrouble: string | null }

/** What changed settings do. */
export type Effects = KnownEffect & {
  /** A run of the connection plans the same with both settings. */
  readonly isSame: boolean
  readonly linked: readonly (KnownEffect & { readonly connection: string })[]
  readonly moreLinked: readonly string[]
  readonly removedLinked: readonly string[]
}

/** How many linked connections are planned, and for how long. Each one reads the export twice. */
const linkedLimits = { maxLinked: 5, maxMs: 2 * 60_000 }
/** How many changes of each kind are compared person by person. */
const maxOfKind = 20_000
const longReading = 'save, and look at the plan of the next run'

/**
 * What the next runs of a connection, and of those linked to it that change as well, would do over the newest export. What plans the same
 * with both settings is not read.
 */
export async function effectsOf(compared: Compared, parts: Parts, limits = linkedLimits): Promise<Effects> {
  const { connection, before, after } = compared
  const isSame = hasSamePlan(compared)
  const own = isSame ? { effect: null, effectTrouble: null } : await effectOf(compared, parts)
  const [old, next] = [before, after].map((config) =>
    [...config.connections.values()].flatMap(({ name, linkedTo }) => (linkedTo === connection ? [name] : [])),
  ) as [string[], string[]]
  const changed = next.filter((name) => !hasSamePlan({ ...compared, connection: name }))
  const linked = await linkedEffects(changed, { compared, parts, limits })
  return {
    ...own,
    ...{ isSame, linked },
    moreLinked: changed.slice(linked.length),
    removedLinked: old.filter((name) => !next.includes(name)),
  }
}

/** A list of accounts has no plan, and so not the same one. */
function hasSamePlan({ connection, before, after }: Compared): boolean {
  const [old, next] = [before, after].map((config) => config.connections.get(connection))
  return next !== undefined && old?.digest === next.digest && old.records?.deliver === next.records?.deliver
}

type LinkedInput = { readonly compared: Compared; readonly parts: Parts; readonly limits: typeof linkedLimits }

/** The effects on these connections in turn, until the time is over. */
async function linkedEffects(
  names: readonly string[],
  { compared, parts, limits: { maxLinked, maxMs } }: LinkedInput,
): Promise<Effects['linked']> {
  const late = AbortSignal.timeout(maxMs)
  const signal = AbortSignal.any([parts.signal, late])
  const linked: Effects['linked'][number][] = []
  for (const connection of names.slice(0, maxLinked)) {
    if (late.aborted) break
    try {
      const known = await effectOf({ ...compared, connection }, { ...parts, signal })
      // A reading that was stopped may have failed with another reason.
      if (!late.aborted) linked.push({ connection, ...known })
    } catch (error) {
      if (!late.aborted || parts.signal.aborted) throw error
    }
  }
  return linked
}

async function effectOf({ connection, before, after }: Compared, parts: Parts): Promise<KnownEffect> {
  const [old, next] = [before, after].map((config) => config.connections.get(connection))
  const unplanned = whyUnplanned([old, next])
  if (unplanned !== null) return { effect: null, effectTrouble: unplanned }
  const { db } = parts.sync.store
  const accepted = await acceptedSource(db, connection)
  const known = old ? await nextRun(before, old, parts) : null
  const then = next ? await nextRun(after, next, parts) : null
  const isAccepted = !isDeepStrictEqual(accepted, await acceptedSource(db, connection))
  if (then === null) return { effect: null, effectTrouble: null }
  if ('trouble' in then) return { effect: null, effectTrouble: `with the settings as they would be: ${then.trouble}` }
  const { effect, plan, version } = then
  const isKnown = known !== null && !('trouble' in known)
  return {
    effect: {
      ...changedPeople(isKnown ? known.plan : null, plan),
      before: isKnown ? known.effect : null,
      beforeTrouble: known !== null && 'trouble' in known ? known.trouble : null,
      after: effect,
      hasSourceChanged: isKnown && (isAccepted || (known.version !== version && isSameExport(old, next))),
    },
    effectTrouble: null,
  }
}

/** Whether both connections read the same export, whatever they make of its rows. */
function isSameExport(...connections: readonly (ConnectionConfig | undefined)[]): boolean {
  const [old, next] = connections.map((connection) =>
    Object.entries(connection?.source?.settings ?? {}).filter(([name]) => sectionOf(['source', name]) === 'source'),
  )
  return isDeepStrictEqual(old, next)
}

/** Why no plan of people is made from a source with these settings, as they are and as they would be; null: there is one. */
function whyUnplanned(settings: readonly (ConnectionConfig | undefined)[]): string | null {
  const all = settings.filter((one) => one !== undefined)
  if (all.length === 0) return 'no run plans from a list of accounts: run "rollcall check" after saving'
  if (all.some(({ records }) => records)) return 'plans of records are not compared: look at the plan of the next run'
  return all.some(({ source }) => !source) ? 'it reads no export of people now, or with the changed settings' : null
}

type NextRun =
  | { readonly effect: SettingsEffect; readonly plan: ComparedPlan; readonly version: string | null }
  | { readonly trouble: string }

async function nextRun(config: Config, connection: ConnectionConfig, parts: Parts): Promise<NextRun> {
  const planned = { next: config, connection, secrets: new Map() }
  try {
    const { preview, version } = await planList(planned, { ...parts, help: longReading, maxOfKind })
    const { rows, records, counts, guards, leftOut, warnings } = preview
    const rejected = counts.rejected + counts.incomplete
    const effect = {
      rows,
      records,
      rejected,
      counts,
      guards: [...guards],
      ...(leftOut && { leftOut }),
      warnings: [...warnings],
    }
    return { effect, plan: preview, version }
  } catch (error) {
    if (error instanceof Failure) return { trouble: error.message }
    throw error
  }
}
