import type { Kysely } from 'kysely'
import type { Operation } from '../../contract/operation.ts'
import type { SchemaValidator } from './json-schema/validator.ts'
import type { PlatformSchema } from './schema.ts'

/** What a handler of the public interface knows of its caller. Every query it makes must keep to `accountId`. */
export type PlatformContext = {
  readonly db: Kysely<PlatformSchema>
  readonly operation: Operation
  readonly accountId: number
  /** The user who stands for the API key. */
  readonly callerId: number
  readonly entitlements: ReadonlySet<string>
  readonly cursorSecret: string
  readonly schemaValidator: SchemaValidator
  readonly now: () => Date
}

/** Who makes a request, with which operation, and when. */
export type Caller = Pick<PlatformContext, 'operation' | 'accountId' | 'callerId' | 'now'>
