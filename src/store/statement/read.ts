import { sql } from 'kysely'
import type { AccountedPerson, Statement } from '../../contract/control/statements.ts'
import type { OwnField } from '../../identity/record.ts'
import { namesByKey } from '../roster/names.ts'
import type { Db } from '../schema.ts'

/** A statement with its number. */
export type StoredStatement = Statement & { readonly id: number }

type StatementQuery = {
  readonly connection: string
  /** The last statement before this instant; left out: the newest. */
  readonly before?: Date | undefined
}

/** The newest statement of a connection, or the newest before an instant; null if there is none. */
export async function statementAt(db: Db, { connection, before }: StatementQuery): Promise<StoredStatement | null> {
  let query = db
    .selectFrom('statements')
    .select(['id', 'content'])
    .where('connection', '=', connection)
    .orderBy('id', 'desc')
    .limit(1)
  if (before !== undefined) query = query.where('made_at', '<', before)
  const row = await query.executeTakeFirst()
  return row ? { ...row.content, id: Number(row.id) } : null
}

type FirstQuery = { readonly connection: string; readonly from: Date; readonly to: Date }

/** The oldest statement of a connection in a period; null if there is none. */
export async function firstStatementFrom(
  db: Db,
  { connection, from, to }: FirstQuery,
): Promise<StoredStatement | null> {
  const row = await db
    .selectFrom('statements')
    .select(['id', 'content'])
    .where('connection', '=', connection)
    .where('made_at', '>=', from)
    .where('made_at', '<', to)
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
  return row ? { ...row.content, id: Number(row.id) } : null
}

type PeopleQuery = {
  readonly connection: string
  /** The number of the statement. */
  readonly statement: number
  readonly side: 'stated' | 'platform'
  readonly part?: string | undefined
  readonly after?: string | undefined
  readonly limit: number
  /** Whether names are included. */
  readonly values: boolean
  /** The own field with the name of the connection's records; left out or null for people. */
  readonly label?: OwnField | null
}

/** The people behind a statement by key: keys that HR states, or the others whom the platform has. */
export async function statementPeople(db: Db, query: PeopleQuery): Promise<readonly AccountedPerson[]> {
  const { connection, statement, side, part, after = '', limit, values, label = null } = query
  // The records of the platform whose key HR states are on its side too.
  const isListed =
    side === 'platform' && part === 'stated'
      ? sql`stated and on_platform is not null`
      : sql`stated = ${side === 'stated'}`
  const isInPart = part === undefined || part === 'stated' ? sql`true` : sql`part = ${part}`
  const { rows } = await sql<AccountedPerson>`
    select identity_id as "identityId", stated, part, on_platform as "onPlatform", detail,
      (select run_id::text from statements where statements.id = since) as "sinceRunId"
    from accounted_people
    where connection = ${connection} and since <= ${statement} and (until is null or until > ${statement})
      and ${isListed} and ${isInPart} and identity_id > ${after}
    order by identity_id limit ${limit}`.execute(db)
  if (!values) return rows
  const names = await namesByKey(db, {
    connection,
    keys: rows.map(({ identityId }) => identityId),
    ...(label && { fields: [label] }),
  })
  return rows.map((person) => ({ ...person, name: names.get(person.identityId) ?? null }))
}

/** Everybody in a statement, on both sides, by key. */
export async function everybodyIn(
  db: Db,
  { connection, statement }: Pick<PeopleQuery, 'connection' | 'statement'>,
): Promise<readonly AccountedPerson[]> {
  const { rows } = await sql<AccountedPerson>`
    select identity_id as "identityId", stated, part, on_platform as "onPlatform", detail,
      (select run_id::text from statements where statements.id = since) as "sinceRunId"
    from accounted_people
    where connection = ${connection} and since <= ${statement} and (until is null or until > ${statement})
    order by identity_id`.execute(db)
  return rows
}
