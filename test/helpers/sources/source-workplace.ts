import { connect } from '../connected.ts'
import { openWorkplace } from '../workplace.ts'
import { type Host, type HrPerson, headers, peopleOn } from '../world.ts'

/** A workplace with one connection, and access to its people on the platform. */
export async function openSourceWorkplace(host: Host) {
  const tenant = await host.tenant()
  const { baseUrl } = host.platform
  const work = await openWorkplace({ baseUrl, key: tenant.key }, { hasStore: true })
  return {
    work,
    connect: (source: object) =>
      connect(work, { baseUrl, connections: { acme: { source: { mode: 'snapshot', ...source } } } }),
    people: () => peopleOn(tenant.client),
    /** The separated people on the platform, with their last day. */
    async leavers() {
      const all = [...(await peopleOn(tenant.client)).values()]
      return all.flatMap(({ identityId, separatedAt }) => (separatedAt ? [[identityId, separatedAt.slice(0, 10)]] : []))
    },
    [Symbol.asyncDispose]: () => work[Symbol.asyncDispose](),
  }
}

/** An export with the columns of the world's HR system. */
export function csvOf(people: readonly HrPerson[]): string {
  const rows = people.map(({ id, email = '', first = '', title = '', start = '', leavingDate = '', status = '' }) =>
    [id, email, first, title, start, leavingDate, status].join(','),
  )
  return `${[headers.join(','), ...rows].join('\r\n')}\r\n`
}
