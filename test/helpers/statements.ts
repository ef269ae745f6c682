import type { Statement } from '../../src/contract/control/statements.ts'
import { owedStatements } from '../../src/store/statement/owed.ts'
import { everybodyIn, statementAt } from '../../src/store/statement/read.ts'
import { peopleOn, type World } from './world.ts'

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

/** The differences that the statements report, with the keys of the people whom they cannot account for. */
export async function differencesStated(world: StoreOf): Promise<readonly string[]> {
  const statements = await statementsOf(world)
  return statements.flatMap(({ runId, differences, unaccounted }) =>
    differences.map((difference) => `run ${runId}: ${difference} ${unaccounted.join(' ')}`),
  )
}

type Recount = {
  /** A sentence for each difference. */
  readonly differences: readonly string[]
  /** How many records of the platform were compared; null: a run has ended since the newest statement. */
  readonly records: number | null
}

/**
 * Compares the newest statement with what the platform lists and with the keys of the newest export, and its counts with its own lists.
 * People whose state on the platform is being looked up are left out.
 */
export async function recountStatement(
  { sync, source }: Pick<World, 'sync' | 'source'>,
  { client, isExportAccepted }: { client: Parameters<typeof peopleOn>[0]; isExportAccepted: boolean },
): Promise<Recount> {
  const { db } = sync.store
  const query = { connection: 'acme' }
  const statement = await statementAt(db, query)
  const later = new Date(sync.now().getTime() + 3_600_000)
  if (!statement || (await owedStatements(db, { ...query, now: later })).length > 0)
    return { differences: [], records: null }
  const everybody = await everybodyIn(db, { ...query, statement: statement.id })
  const platform = await peopleOn(client)
  const inDoubt = new Set(
    (await db.selectFrom('in_doubt').select('identity_id').execute()).map((row) => row.identity_id),
  )
  const madeAt = Date.parse(statement.madeAt)
  const stateOf = (separatedAt: string | null) =>
    separatedAt !== null && Date.parse(separatedAt) <= madeAt ? 'left' : 'employed'
  const listed = new Map([...platform].map(([key, { separatedAt }]) => [key, stateOf(separatedAt)]))
  const stated = new Map(
    everybody.flatMap(({ identityId, onPlatform }) => (onPlatform ? [[identityId, onPlatform]] : [])),
  )
  const keys = [...new Set([...listed.keys(), ...stated.keys()])].filter((key) => !inDoubt.has(key))
  const exported = new Set(source.rows.map(({ values }) => values[0]).filter((key) => key !== ''))
  const count = (isIn: (person: (typeof everybody)[number]) => boolean) => everybody.filter(isIn).length
  const counts = [
    ...Object.entries(statement.stated.parts).map(([part, people]) => [
      part,
      people,
      count((one) => one.stated && one.part === part),
    ]),
    ...Object.entries(statement.platform.parts).map(([part, people]) => [
      `platform ${part}`,
      people,
      count((one) => one.onPlatform !== null && (part === 'stated' ? one.stated : !one.stated && one.part === part)),
    ]),
    ['records', statement.platform.records, stated.size],
    ...(isExportAccepted ? [['keys', statement.stated.exported, exported.size]] : []),
  ]
  return {
    records: listed.size,
    differences: [
      ...keys.flatMap((key) =>
        listed.get(key) === stated.get(key)
          ? []
          : [`${key} is ${listed.get(key)} there and ${stated.get(key)} in the statement`],
      ),
      ...counts.flatMap(([name, inStatement, recounted]) =>
        inStatement === recounted ? [] : [`${name}: ${inStatement} in the statement, ${recounted} recounted`],
      ),
    ],
  }
}
