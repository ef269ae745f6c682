import { afterAll, beforeAll, expect, test } from 'vitest'
import { faults } from '../../helpers/faults/faults.ts'
import { openStory, type Story } from '../../helpers/faults/story.ts'
import { firstOf } from '../../helpers/tier.ts'
import { type Host, startHost } from '../../helpers/world.ts'

const people = 1000
/** The request for the whole batch, and those for the halves that one attempt may send. */
const maxRequestsPerAttempt = 1 + 100

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

/** The keys of every nth person of the company. */
function everyNth(every: number): string[] {
  const numbers = Array.from({ length: people }, (_, i) => i + 1)
  return numbers.filter((number) => number % every === 0).map((number) => `E${String(number).padStart(4, '0')}`)
}

function refuse({ proxy }: Story, ids: readonly string[]): void {
  const refused = new Set(ids)
  const answer = faults.answer({ status: 400, body: { message: 'somebody in here will not do' } })
  proxy.fault(({ identityIds }) => (identityIds.some((id) => refused.has(id)) ? answer : faults.pass))
}

/** Delivers the run attempt by attempt. Returns how many requests each attempt sent. */
async function attempts(story: Story): Promise<{ state: string; requests: number[] }> {
  let run = await story.night()
  const requests = [story.changes().length]
  while (run.state === 'delivering') {
    const sent = story.changes().length
    await story.advanceMinutes(1)
    requests.push(story.changes().length - sent)
    run = await story.world.runOf(run.id)
  }
  return { state: run.state, requests }
}

test.each(
  firstOf(2, [
    { count: 1, every: 700, maxRequests: 1 + 2 * 10 },
    { count: 10, every: 100, maxRequests: 2 * 10 * 10 },
    { count: 1000, every: 1, maxRequests: 2 * 1000 + 1000 },
  ]),
)(
  '$count refused people of 1000 are found with a bounded number of requests, and everybody else is confirmed',
  async ({ count, every, maxRequests }) => {
    await using story = await openStory(host, { people })
    const ids = everyNth(every)
    refuse(story, ids)

    const { state, requests } = await attempts(story)
    const confirmed = await story.confirmed()
    const refused = await story.refused()

    expect(ids).toHaveLength(count)
    expect(state).toBe('finished_with_problems')
    expect(Math.max(...requests)).toBeLessThanOrEqual(maxRequestsPerAttempt)
    expect(requests.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(maxRequests)
    expect(refused).toEqual(ids)
    expect(confirmed).toBe(people - count)
    await story.heal()
    await story.night()
    expect(await story.findings()).toEqual([])
  },
)
