import type { Writable } from 'node:stream'
import type { Kysely } from 'kysely'
import { type Calls, localCalls } from '../../http/client/calls.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { writeExport } from '../export/write.ts'
import { operatorOperations } from './contract.ts'
import { operatorHandlers } from './handlers.ts'

/** The operations of the `rollcall platform` commands, on a database or through a running platform. */
export type Operator = Calls<typeof operatorOperations> & {
  /** Writes all data as one JSON document and leaves `sink` open. */
  writeExport(sink: Writable): Promise<void>
}

/** The operations of the `rollcall platform` commands on a database. */
export function databaseOperator(db: Kysely<PlatformSchema>, now: () => Date = () => new Date()): Operator {
  return {
    ...localCalls(operatorOperations, operatorHandlers, { db, now }),
    writeExport: (sink) => writeExport(db, sink, now()),
  }
}
