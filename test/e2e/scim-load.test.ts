import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDice, type Dice } from '../helpers/dice.ts'
import { noLimits } from '../helpers/guards/no-limits.ts'
import { type Served, serve } from '../helpers/served.ts'
import { oktaUser, patchOf, type ScimAnswered, type ScimCall } from '../helpers/sources/scim-server.ts'
import { createScimToken, openScimWorkplace, type ScimWorkplace, senderOf } from '../helpers/sources/scim-workplace.ts'
import { type Host, startHost } from '../helpers/world.ts'

const senders = 12

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

test('200 requests with a kill, replays and reordering lose nobody', { timeout: 240_000 }, () =>
  pushWithKills({ requests: 200, kills: 1 }),
)

test('30,000 requests with kills, replays and reordering lose nobody', { tags: ['full'], timeout: 3_600_000 }, () =>
  pushWithKills({ requests: 30_000, kills: 25 }),
)

/** A user as the sender last had it answered. */
type Known = {
  readonly key: string
  id: string | null
  active: boolean
  title: string
  version: string
  wasThere: boolean
}

/** Pushes joiners, movers, leavers and returns, kills the daemon again and again, and compares what is there with what was answered. */
async function pushWithKills({
  requests,
  kills,
}: {
  readonly requests: number
  readonly kills: number
}): Promise<void> {
  const dice = createDice('scim load')
  await using workplace = await openScimWorkplace(host, { connection: { guards: noLimits } })
  const { work } = workplace
  await using daemon = await openKilledDaemon(work)
  const token = await createScimToken(work)
  const sender = new Sender(() => daemon.current(), token)
  const users = Array.from({ length: Math.ceil(requests / 12) }, (_, at): Known => {
    return { key: `00u-p${at}`, id: null, active: false, title: '', version: '', wasThere: false }
  })
  const idle = new Set(users)

  const pushes = Array.from({ length: senders }, async () => {
    while (sender.answered < requests) {
      const user = [...idle][dice.integer(0, idle.size - 1)]
      if (user === undefined) throw new Error('every user is being changed')
      idle.delete(user)
      await pushChange(sender, user, dice)
      idle.add(user)
    }
  })
  for (let kill = 1; kill <= kills; kill += 1) {
    await sender.reaches(Math.floor((requests * kill) / (kills + 1)))
    await daemon.kill()
  }
  await Promise.all(pushes)

  expect(await listed(sender)).toEqual(expectedList(users))
  expect(await missingEvents(work, sender)).toEqual([])
  const expected = expectedPeople(users)
  await expect
    .poll(async () => peopleShown(await workplace.people()), { timeout: requests * 100 + 60_000, interval: 500 })
    .toEqual(expected)
  const rejected = await work.json<{ events: object[] }>('events', '--state', 'rejected')
  expect(rejected.document.events).toEqual([])
  expect(sender.replayed).toBeGreaterThan(requests / 30)
  expect(sender.reordered).toBeGreaterThan(requests / 60)
  expect(sender.interrupted).toBeGreaterThan(0)
}

/** A daemon that is killed and started again. */
async function openKilledDaemon(work: ScimWorkplace['work']) {
  let started: Promise<Served> = serve(work)
  await started
  return {
    current: () => started,
    async kill(): Promise<void> {
      const { child, ended } = await started
      child.kill('SIGKILL')
      started = ended.then(() => serve(work))
      await started
    },
    async [Symbol.asyncDispose]() {
      await (await started)[Symbol.asyncDispose]()
    },
  }
}

/** Sends each request until it is answered, as identity systems do. */
class Sender {
  answered = 0
  replayed = 0
  reordered = 0
  interrupted = 0
  /** How many changes of each user were answered with 2xx. */
  readonly changes = new Map<string, number>()
  readonly #daemon: () => Promise<Served>
  readonly #token: string
  readonly #waiting: { readonly count: number; readonly resolve: () => void }[] = []

  constructor(daemon: () => Promise<Served>, token: string) {
    this.#daemon = daemon
    this.#token = token
  }

  async send(call: ScimCall): Promise<ScimAnswered> {
    for (;;) {
      const daemon = await this.#daemon()
      try {
        const answer = await senderOf(daemon, this.#token)(call)
        this.answered += 1
        for (const { count, resolve } of this.#waiting) if (this.answered >= count) resolve()
        if (answer.status >= 500 || answer.status === 429) continue
        if (call.method !== undefined && answer.status < 300)
          this.#countChange(answer.body.id ?? call.path.slice('/Users/'.length))
        return answer
      } catch {
        this.interrupted += 1
        await daemon.ended
      }
    }
  }

  #countChange(id: string): void {
    this.changes.set(id, (this.changes.get(id) ?? 0) + 1)
  }

  reaches(count: number): Promise<void> {
    if (this.answered >= count) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push({ count, resolve }))
  }
}

/** The users with fewer events than changes that were answered with 2xx. An answer that was lost has an event too. */
async function missingEvents(work: ScimWorkplace['work'], { changes }: Sender): Promise<string[]> {
  const { document } = await work.json<{ events: { eventId: string | null }[] }>('events')
  const events = Map.groupBy(document.events, ({ eventId }) => eventId)
  return [...changes].flatMap(([id, count]) => ((events.get(id)?.length ?? 0) < count ? [id] : []))
}

async function pushChange(sender: Sender, user: Known, dice: Dice): Promise<void> {
  if (user.id === null) return await create(sender, user, dice)
  if (dice.chance(0.1)) return await remove(sender, user)
  if (dice.chance(0.1)) return await pushInAnyOrder(sender, user, dice)
  const before = user.version
  const isDeparture = user.active && dice.chance(0.25)
  const title = `title ${dice.integer(1, 1_000_000)}`
  const active = isDeparture ? false : user.active || dice.chance(0.5)
  const call = callFor(user, { title, active }, dice)
  const answer = await sender.send(call)
  expect(answer.status).toBe(200)
  if (dice.chance(0.1)) {
    sender.replayed += 1
    expect((await sender.send(call)).status).toBe(200)
  }
  Object.assign(user, { title, active, version: answer.body.meta.version })
  // An earlier request arrives late: its version is no longer there.
  if (dice.chance(0.1) && before !== user.version) {
    const late = callFor(user, { title: 'late', active: !active }, dice)
    expect((await sender.send({ ...late, headers: { 'if-match': before } })).status).toBe(412)
  }
}

/** Changes that overtake each other, the first of which may arrive once more: the last to arrive is what the sender reads. */
async function pushInAnyOrder(sender: Sender, user: Known, dice: Dice): Promise<void> {
  const calls = [true, false, dice.chance(0.5)].map((active) =>
    callFor(user, { title: `title ${dice.integer(1, 1_000_000)}`, active }, dice),
  )
  const answers = await Promise.all(calls.map((call) => sender.send(call)))
  const [first] = calls
  if (first !== undefined && dice.chance(0.3)) answers.push(await sender.send(first))
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  sender.reordered += 1
  const { body } = await sender.send({ path: `/Users/${user.id}` })
  Object.assign(user, { title: body.title, active: body.active, version: body.meta.version })
}

async function create(sender: Sender, user: Known, dice: Dice): Promise<void> {
  const title = `title ${dice.integer(1, 1_000_000)}`
  const created = await sender.send({ method: 'POST', path: '/Users', body: bodyOf(user, { title, active: true }) })
  expect([201, 409]).toContain(created.status)
  // The answer to the first attempt was lost: the sender finds what it wrote.
  const filter = encodeURIComponent(`userName eq "${loginOf(user)}"`)
  const { body } = created.status === 201 ? created : await sender.send({ path: `/Users?filter=${filter}` })
  const { id, meta } = body.Resources?.[0] ?? body
  Object.assign(user, { id, title, active: true, version: meta.version, wasThere: true })
  if (created.status === 201) return
  const put = await sender.send({ method: 'PUT', path: `/Users/${id}`, body: bodyOf(user, user) })
  Object.assign(user, { version: put.body.meta.version })
}

async function remove(sender: Sender, user: Known): Promise<void> {
  const { status } = await sender.send({ method: 'DELETE', path: `/Users/${user.id}` })
  expect([204, 404]).toContain(status)
  Object.assign(user, { id: null, active: false })
}

type Stated = { readonly title: string; readonly active: boolean }

function callFor(user: Known, { title, active }: Stated, dice: Dice): ScimCall {
  const path = `/Users/${user.id}`
  if (dice.chance(0.3)) return { method: 'PUT', path, body: bodyOf(user, { title, active }) }
  const operations = dice.chance(0.5)
    ? [{ op: 'replace', value: { title, active } }]
    : [
        { op: 'Replace', path: 'title', value: title },
        { op: 'Replace', path: 'active', value: active ? 'True' : 'False' },
      ]
  return { method: 'PATCH', path, body: patchOf(...operations) }
}

function loginOf({ key }: Known): string {
  return `${key.slice('00u-'.length)}@acme.example`
}

function bodyOf(user: Known, { title, active }: Stated): object {
  return oktaUser(loginOf(user), { title, active })
}

async function listed(sender: Sender): Promise<Record<string, Stated>> {
  const users: Record<string, Stated> = {}
  for (let startIndex = 1; ; startIndex += 97) {
    const { body } = await sender.send({ path: `/Users?startIndex=${startIndex}&count=97` })
    for (const { externalId, title, active } of body.Resources) users[externalId] = { title, active }
    if (startIndex + 97 > body.totalResults) return users
  }
}

function expectedList(users: readonly Known[]): Record<string, Stated> {
  return Object.fromEntries(
    users.flatMap(({ id, key, title, active }) => (id === null ? [] : [[key, { title, active }]])),
  )
}

/** Everybody who was ever there, and whether they have left. The title of somebody who has left is that of the last change too. */
function expectedPeople(users: readonly Known[]): Record<string, object> {
  return Object.fromEntries(
    users.flatMap(({ key, title, active, wasThere }) => (wasThere ? [[key, { title, hasLeft: !active }]] : [])),
  )
}

function peopleShown(people: Awaited<ReturnType<ScimWorkplace['people']>>): Record<string, object> {
  return Object.fromEntries(
    [...people].map(([key, { jobTitle, separatedAt }]) => [key, { title: jobTitle, hasLeft: separatedAt !== null }]),
  )
}
