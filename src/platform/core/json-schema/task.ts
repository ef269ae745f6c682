type JsonObject = Readonly<Record<string, unknown>>

/** Records to judge by a schema. With `cacheKey` the compiled schema is kept under it, so one key must always mean one schema. */
export type SchemaTask = {
  readonly schema: JsonObject
  readonly cacheKey: number | null
  readonly records: readonly JsonObject[]
}

/** What each failing record fails at, as a JSON list, by its position; or why nothing can be judged. */
export type Verdict = { readonly failures: ReadonlyMap<number, string> } | { readonly refusal: string }

/** What a thread says first: that it is ready to judge. */
export const ready = 'ready'
