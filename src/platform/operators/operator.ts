import type { Writable } from 'node:stream'
import type { Kysely } from 'kysely'
import { type Calls, localCalls } from '../../http/client/calls.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { writeExport } from '../export/write.ts'
import { operatorOperations } from './contract.ts'
import { operatorHandlers } from './handlers.ts'

/** What the operator may do. It is the same on the database itself and through a running platform. */
export type Operator = Calls<typeof operatorOperations> & {
  /** Writes everything that the platform holds, as one JSON document, and leaves `sink` open. */
  writeExport(sink: Writable): Promise<void>
}

/** The operator on the platform's own database. */
export function databaseOperator(db: Kysely<PlatformSchema>, now: () => Date = () => new Date()): Operator {
  return {
    ...localCalls(operatorOperations, operatorHandlers, { db, now }),
    writeExport: (sink) => writeExport(db, sink, now()),
  }
}
