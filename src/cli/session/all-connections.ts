import type { ConnectionStatus, Status } from '../../contract/control/shapes.ts'
import type { Control } from './control-client.ts'

const maxPerPage = 1000

type StatusQuery = Omit<NonNullable<Parameters<Control['status']>[0]['query']>, 'after' | 'limit'>

/** The status with up to `max` connections, from as many pages as it takes. */
export async function statusOfAll(
  control: Control,
  query: StatusQuery,
  max = Number.POSITIVE_INFINITY,
): Promise<Status> {
  const connections: ConnectionStatus[] = []
  for (let after: string | undefined; ; ) {
    const limit = Math.min(maxPerPage, max - connections.length)
    const page = await control.status({ query: { ...query, ...(after !== undefined && { after }), limit } })
    connections.push(...page.connections)
    if (page.next === null || connections.length >= max) return { ...page, connections }
    after = page.next
  }
}
