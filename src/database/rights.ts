import { errorCode, Failure } from '../errors.ts'
import type { Queryable } from './pool.ts'

const insufficientPrivilege = '42501'

type SchemaOfDatabase = { readonly schema: string; readonly location: string }

/** Whether the user lacks a right. */
export function lacksRight(error: unknown): boolean {
  return errorCode(error) === insufficientPrivilege
}

/** A failure with the statements that an administrator has to run. The connection must not be in a failed transaction. */
export async function missingRight(
  database: Queryable,
  { schema, location }: SchemaOfDatabase,
  cause: unknown,
): Promise<Failure> {
  const { rows } = await database.query<{ user: string; isThere: boolean; isOpen: boolean }>(
    `SELECT quote_ident(current_user) AS "user", to_regnamespace($1) IS NOT NULL AS "isThere",
       coalesce(has_schema_privilege(to_regnamespace($1), 'CREATE'), false)
       AND coalesce(has_schema_privilege(to_regnamespace($1), 'USAGE'), false) AS "isOpen"`,
    [schema],
  )
  const { user = '', isThere = false, isOpen = false } = rows[0] ?? {}
  return new Failure('config_invalid', `the user of ${location} ${sentence({ schema, user, isThere, isOpen })}`, {
    cause,
  })
}

type SchemaRights = {
  readonly schema: string
  readonly user: string
  readonly isThere: boolean
  readonly isOpen: boolean
}

function sentence({ schema, user, isThere, isOpen }: SchemaRights): string {
  if (!isThere) {
    return `may not create the schema "${schema}"; have an administrator run: CREATE SCHEMA ${schema} AUTHORIZATION ${user}`
  }
  if (!isOpen) {
    return `may not create tables in the schema "${schema}"; have an administrator run: GRANT USAGE, CREATE ON SCHEMA ${schema} TO ${user}`
  }
  return `may not use what another role has made in the schema "${schema}"; connect as that role, or have an administrator run: ALTER TABLE … OWNER TO ${user} for each table there`
}
