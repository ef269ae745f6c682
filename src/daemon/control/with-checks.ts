import type { Handlers } from '../../http/server/mount.ts'
import { withDatabaseFailures } from './with-database-failures.ts'
import { type OperationsByRole, type WithActor, type WithCaller, withPermissions } from './with-permissions.ts'

/** Adds to handlers what every caller gets, over HTTP, in the console and in commands: permission checks, and explained database failures. */
export function withChecks<T extends OperationsByRole, Ctx extends WithCaller>(
  table: T,
  handlers: Handlers<T, Ctx & WithActor>,
): Handlers<T, Ctx> {
  return withDatabaseFailures(withPermissions(table, handlers))
}
