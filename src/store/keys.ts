/** A person of a connection, by key. */
export type PersonKey = { readonly connection: string; readonly identityId: string }

/** People of a connection, by their keys. */
export type PeopleKeys = { readonly connection: string; readonly identityIds: readonly string[] }

/** A run and the connection that it belongs to. */
export type RunOfConnection = { readonly runId: string; readonly connection: string }

/** A batch of a run, by its number. */
export type BatchKey = { readonly runId: string; readonly batch: number }

/** A connection at the time of the caller's clock. */
export type ConnectionAt = { readonly connection: string; readonly now: Date }
