import { type RawBuilder, sql } from 'kysely'

type KeyText = { readonly connection: string; readonly key: RawBuilder<unknown> }

/**
 * In SQL, the SHA-256 of the installation, the connection and a key, each but the last with a line end. Statements name keys by it in what
 * they sum up, so that the sums still hold when a person is forgotten. Whoever knows the key can compute it again.
 */
export function keyDigest({ connection, key }: KeyText): RawBuilder<string> {
  return sql<string>`encode(sha256(convert_to(
    coalesce((select id::text from installation), '') || E'\n' || ${connection}::text || E'\n' || ${key}, 'UTF8')), 'hex')`
}

/** In SQL, what stands for the key of a person who was forgotten. */
export function forgottenKey(text: KeyText): RawBuilder<string> {
  return sql<string>`'forgotten:' || ${keyDigest(text)}`
}

/** In SQL, the digest of the key in a column that may hold `forgottenKey` instead. */
export function storedKeyDigest({ connection, key }: KeyText): RawBuilder<string> {
  return sql<string>`case when ${isForgottenKey(key)} then substr(${key}, 11) else ${keyDigest({ connection, key })} end`
}

/** In SQL, whether a column holds `forgottenKey` in place of a key. */
export function isForgottenKey(key: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`${key} ~ '^forgotten:[0-9a-f]{64}$'`
}
