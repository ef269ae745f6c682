import type { RawBuilder } from 'kysely'
import { unknownPerson } from '../../identity/decide/decide.ts'
import { newsOf } from '../../identity/decide/news.ts'
import { tally } from '../../identity/decide/tally.ts'
import { noNews, type PeopleCounts } from '../../identity/guards/facts.ts'
import { stagedChanges } from '../../store/plans/plans.ts'
import { rosterEntries } from '../../store/roster/roster.ts'
import type { Run } from '../../store/runs/runs.ts'
import type { Db } from '../../store/schema.ts'
import type { SyncConnection } from '../context/context.ts'
import { mainRules } from './feeds.ts'
import { planContext } from './plan-inputs.ts'

type CountInput = {
  /** The run whose changes are counted. */
  readonly runId: string
  /** The time of its facts (ISO instant). */
  readonly asOf: Run['asOf']
  readonly connection: SyncConnection
  /** Which changes are counted; left out: all. */
  readonly only?: RawBuilder<boolean>
  readonly now: Date
}

/** How many people of a split plan each limit counts, before the plan is accepted. */
export async function countPeople(tx: Db, { runId, asOf, connection, only, now }: CountInput): Promise<PeopleCounts> {
  const context = planContext({ mode: 'delta', asOf: asOf ?? now.toISOString() }, mainRules(connection), now)
  const rules = { today: context.today, removes: connection.records !== undefined }
  const counted = tally()
  for await (const page of stagedChanges(tx, runId, only && { only })) {
    const identityIds = page.map(({ change }) => change.identityId)
    const known = await rosterEntries(tx, { connection: connection.name, identityIds })
    for (const { change } of page) {
      const entry = known.get(change.identityId) ?? unknownPerson(change.identityId, context)
      const news = change.kind === 'retract' || change.carried ? noNews : newsOf(entry, change.record, rules)
      counted.add({ entry: null, change, isAbsent: false, news }, 'untouched')
    }
  }
  return counted.people()
}
