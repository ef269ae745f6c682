import type { SyncConnection, SyncContext } from '../context/context.ts'

/** The connections that read the source of this one too. */
export function linkedConnections(
  { connections }: Pick<SyncContext, 'connections'>,
  name: string,
): readonly SyncConnection[] {
  return [...connections.values()].filter(({ linkedTo }) => linkedTo === name)
}
