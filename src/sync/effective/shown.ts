import { walk } from '../../http/client/walk.ts'
import type { ShownPerson } from '../../identity/effective/cause.ts'
import type { Platform } from '../context/context.ts'
import { type Endpoint, request } from '../target/endpoint.ts'

/** The maximum that the platform allows. */
const defaultPageSize = 500

/** Everybody in the platform's personnel, page by page. Throws `WalkInterrupted` if a page is refused. People without a user are left out. */
export async function* shownPeople(endpoint: Endpoint, pageSize = defaultPageSize): AsyncGenerator<ShownPerson> {
  const list = (input: Parameters<Platform['client']['searchPersonnel']>[0]) =>
    request(endpoint, (client, options) => client.searchPersonnel(input, options))
  const query = { size: pageSize, 'expand[]': ['user' as const, 'reasonProvider' as const] }
  for await (const { id, user, employmentStatus, notHumanReason, reasonProvider, ...person } of walk(list, { query })) {
    if (user === undefined) continue
    const { email, firstName, lastName } = user
    yield {
      personId: id,
      email,
      firstName,
      lastName,
      status: employmentStatus,
      startedAt: person.startedAt,
      separatedAt: person.separatedAt,
      statusUpdatedAt: person.statusUpdatedAt,
      updatedAt: person.updatedAt,
      reason: notHumanReason,
      reasonBy: reasonProvider?.email ?? null,
      hrisConnectionId: person.hrisConnectionId,
      idpConnectionId: person.idpConnectionId,
    }
  }
}
