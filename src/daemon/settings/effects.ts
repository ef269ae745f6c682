import type { SettingsEffect, SettingsPreview } from '../../contract/control/settings-changes.ts'
import { Failure } from '../../errors.ts'
import type { Config } from '../config/config.ts'
import type { VisitParts } from '../proposal/first-parts.ts'
import { planList } from '../proposal/plan-list.ts'

type Compared = {
  readonly connection: string
  /** The configuration as it is, and as it would be. */
  readonly before: Config
  readonly after: Config
}
type Parts = Pick<VisitParts, 'sync' | 'toSync' | 'signal'>
type LinkedEffect = SettingsPreview['linked'][number]
type Effects = Pick<SettingsPreview, 'effect' | 'effectTrouble' | 'linked'>

const longReading = 'save, and look at the plan of the next run'

/** What the next runs of a connection, and of those linked to it that change as well, would do over the newest export. */
export async function effectsOf(compared: Compared, parts: Parts): Promise<Effects> {
  const { connection, before, after } = compared
  const { effect, effectTrouble } = await effectOf(compared, parts)
  const changed = [...after.connections.values()].filter(
    ({ name, linkedTo, digest }) => linkedTo === connection && before.connections.get(name)?.digest !== digest,
  )
  const linked: LinkedEffect[] = []
  for (const { name } of changed)
    linked.push({ connection: name, ...(await effectOf({ ...compared, connection: name }, parts)) })
  return { effect: effect?.before ? { before: effect.before, after: effect.after } : null, effectTrouble, linked }
}

async function effectOf(
  { connection, before, after }: Compared,
  parts: Parts,
): Promise<Pick<LinkedEffect, 'effect' | 'effectTrouble'>> {
  const unknown = (effectTrouble: string) => ({ effect: null, effectTrouble })
  const effects: (SettingsEffect | null)[] = []
  for (const config of [before, after]) {
    const one = config.connections.get(connection)
    if (one && (!one.source || one.records)) return unknown('this connection reads no export of people')
    try {
      effects.push(one ? await nextRun(config, one, parts) : null)
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      return unknown(`with the settings as they ${config === before ? 'are' : 'would be'}: ${error.message}`)
    }
  }
  const [old = null, next = null] = effects
  return { effect: next && { before: old, after: next }, effectTrouble: null }
}

type Connection = NonNullable<ReturnType<Config['connections']['get']>>

async function nextRun(config: Config, connection: Connection, parts: Parts): Promise<SettingsEffect> {
  const planned = { next: config, connection, secrets: new Map() }
  const { preview } = await planList(planned, { ...parts, help: longReading })
  const { rows, records, counts, guards, warnings } = preview
  const rejected = counts.rejected + counts.incomplete
  return { rows, records, rejected, counts, guards: [...guards], warnings: [...warnings] }
}
