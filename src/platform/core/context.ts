import type { Kysely } from 'kysely'
import type { Operation } from '../../contract/operation.ts'
import type { SchemaValidator } from './json-schema/validator.ts'
import type { PlatformSchema } from './schema.ts'

/** What a handler of the public API gets. Every query must be limited to `accountId`. */
export type PlatformContext = {
  readonly db: Kysely<PlatformSchema>
  readonly operation: Operation
  readonly accountId: number
  /** The service user of the API key. */
  readonly callerId: number
  readonly entitlements: ReadonlySet<string>
  readonly cursorSecret: string
  /** The address of the API as the caller reaches it, for links in answers. */
  readonly baseUrl: string
  readonly schemaValidator: SchemaValidator
  readonly now: () => Date
}

/** The caller of a request, with the operation and the clock. */
export type Caller = Pick<PlatformContext, 'operation' | 'accountId' | 'callerId' | 'now'>
