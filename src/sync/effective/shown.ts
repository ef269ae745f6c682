import type { AnyAnswer, Unreachable } from '../../http/client/answer.ts'
import { walk } from '../../http/client/walk.ts'
import type { ShownPerson } from '../../identity/effective/cause.ts'
import type { Platform } from '../context/context.ts'
import { classifyAnswer } from '../rate-limit/classify-answers.ts'
import { type Call, type Endpoint, request } from '../target/endpoint.ts'

/** The maximum that the platform allows. */
const defaultPageSize = 500

/** How often a page is requested again that the platform failed to answer. */
const maxRepeats = 2

/** Makes a request again if the platform fails, or after the time that it asks for. */
async function requestPatiently<A extends AnyAnswer>(endpoint: Endpoint, call: Call<A>): Promise<A | Unreachable> {
  for (let repeats = 0; ; repeats++) {
    const answer = await request(endpoint, call)
    const classified = classifyAnswer(answer)
    if (classified.kind !== 'retry' && classified.kind !== 'wait') return answer
    if (classified.kind === 'wait' && classified.code === 'rate_limited')
      await endpoint.platform.rateLimiter.pause(classified.delayMs)
    if (repeats === maxRepeats || endpoint.signal.aborted) return answer
  }
}

/** Everybody in the platform's personnel, page by page. Throws `WalkInterrupted` if a page is refused. People without a user are left out. */
export async function* shownPeople(endpoint: Endpoint, pageSize = defaultPageSize): AsyncGenerator<ShownPerson> {
  const list = (input: Parameters<Platform['client']['searchPersonnel']>[0]) =>
    requestPatiently(endpoint, (client, options) => client.searchPersonnel(input, options))
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
