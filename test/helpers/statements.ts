import type { Statement } from '../../src/contract/control/statements.ts'
import type { World } from './world.ts'

type StoreOf = Pick<World, 'sync'>

/** All statements of a connection, the oldest first. */
export async function statementsOf({ sync }: StoreOf, connection = 'acme'): Promise<readonly Statement[]> {
  const rows = await sync.store.db
    .selectFrom('statements')
    .select('content')
    .where('connection', '=', connection)
    .orderBy('id')
    .execute()
  return rows.map(({ content }) => content)
}

/** What does not add up in any statement, with the keys. */
export async function differencesStated(world: StoreOf): Promise<readonly string[]> {
  const statements = await statementsOf(world)
  return statements.flatMap(({ runId, differences, unaccounted }) =>
    differences.map((difference) => `run ${runId}: ${difference} ${unaccounted.join(' ')}`),
  )
}
