import type { Kysely } from 'kysely'
import type { PlatformSchema } from '../core/schema.ts'

/** What the operator's handlers get. */
export type OperatorContext = { readonly db: Kysely<PlatformSchema>; readonly now: () => Date }
