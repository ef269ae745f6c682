import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Status } from '../../src/contract/control/shapes.ts'
import { serve } from '../helpers/served.ts'
import {
  enterpriseSchema,
  errorSchema,
  groupSchema,
  oktaUser,
  patchOf,
  userSchema,
} from '../helpers/sources/scim-server.ts'
import { createScimToken, openScimWorkplace, type ScimWorkplace, senderOf } from '../helpers/sources/scim-workplace.ts'
import { type Host, startHost } from '../helpers/world.ts'

const patience = { timeout: 120_000, interval: 200 }

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

/** A user as Microsoft Entra creates it. */
function entraUser(key: string, more: object = {}): object {
  return {
    schemas: [userSchema, enterpriseSchema],
    externalId: key,
    userName: `${key}@acme.example`,
    active: true,
    emails: [{ primary: true, type: 'work', value: `${key}@acme.example` }],
    meta: { resourceType: 'User' },
    name: { familyName: 'Roy', givenName: key },
    ...more,
  }
}

const personOf = async ({ people }: ScimWorkplace, key: string) => (await people()).get(key)
const leavingDay = async (workplace: ScimWorkplace, key: string) =>
  (await personOf(workplace, key))?.separatedAt?.slice(0, 10) ?? null
const today = () => new Date().toISOString().slice(0, 10)

describe('a daemon that is pushed over SCIM', () => {
  test('delivers joiner, mover, leaver and rehire of Okta, also after it is killed; no log names anybody', async () => {
    await using workplace = await openScimWorkplace(host)
    const { work } = workplace
    await using first = await serve(work)
    const token = await createScimToken(work)
    const okta = senderOf(first, token)
    const ana = oktaUser('ottoline@acme.example', { title: 'Engineer' })

    const created = await okta({ method: 'POST', path: '/Users', body: ana })
    first.child.kill('SIGKILL')
    await first.ended
    await using daemon = await serve(work)
    const sender = senderOf(daemon, token)
    const path = `/Users/${created.body.id}`
    await expect.poll(() => personOf(workplace, '00u-ottoline'), patience).toMatchObject({ jobTitle: 'Engineer' })
    await sender({
      method: 'PUT',
      path,
      body: { ...ana, title: 'CEO', emails: [{ value: 'o@acme.example', primary: true }] },
    })
    await expect
      .poll(() => personOf(workplace, '00u-ottoline'), patience)
      .toMatchObject({ jobTitle: 'CEO', email: 'o@acme.example', separatedAt: null })
    const moved = await personOf(workplace, '00u-ottoline')
    await sender({ method: 'PATCH', path, body: patchOf({ op: 'replace', value: { active: false } }) })
    await expect.poll(() => leavingDay(workplace, '00u-ottoline'), patience).toBe(today())
    await sender({ method: 'PUT', path, body: { ...ana, title: 'Advisor', active: true } })
    await expect.poll(() => leavingDay(workplace, '00u-ottoline'), patience).toBeNull()
    const group = {
      schemas: [groupSchema],
      displayName: 'Staff',
      members: [{ value: created.body.id, display: 'Ottoline' }],
    }
    const pushed = await sender({ method: 'POST', path: '/Groups', body: group })
    const undecoded = await sender({ path: '/Users/%zz' })
    const { document } = await work.json<Status>('status')
    daemon.child.kill('SIGTERM')
    const { stdout, stderr } = await daemon.ended

    expect(created.status).toBe(201)
    expect(undecoded).toMatchObject({ status: 400, body: { schemas: [errorSchema], status: '400' } })
    expect(moved).toMatchObject({ firstName: 'ottoline', lastName: 'Okoro' })
    expect(await personOf(workplace, '00u-ottoline')).toMatchObject({ jobTitle: 'Advisor' })
    expect(pushed.status).toBe(201)
    expect(document.connections).toMatchObject([{ pushed: { users: 1, active: 1, lastAt: expect.any(String) } }])
    const log = [first.output(), stdout, stderr].join('\n')
    for (const personal of ['ttoline', 'Okoro', token]) expect(log).not.toContain(personal)
  })

  test('delivers joiner, mover, leaver and rehire of Microsoft Entra', { tags: ['full'] }, async () => {
    await using workplace = await openScimWorkplace(host, {
      source: { timeZone: 'UTC', fields: { managerId: { column: `${enterpriseSchema}.manager.value` } } },
    })
    await using daemon = await serve(workplace.work)
    const entra = senderOf(daemon, await createScimToken(workplace.work, 'Entra'))

    const boss = await entra({ method: 'POST', path: '/Users', body: entraUser('boss') })
    const ana = await entra({ method: 'POST', path: '/Users', body: entraUser('ana', { title: 'Engineer' }) })
    const path = `/Users/${ana.body.id}`
    const manager = { op: 'Add', path: `${enterpriseSchema}:manager`, value: boss.body.id }
    await entra({ method: 'PATCH', path, body: patchOf({ op: 'Replace', path: 'title', value: 'CEO' }, manager) })
    await expect.poll(() => personOf(workplace, 'ana'), patience).toMatchObject({ jobTitle: 'CEO', managerId: 'boss' })
    await entra({ method: 'PATCH', path, body: patchOf({ op: 'Replace', path: 'title', value: '' }) })
    await expect.poll(() => personOf(workplace, 'ana'), patience).toMatchObject({ jobTitle: null })
    await entra({ method: 'PATCH', path, body: patchOf({ op: 'Replace', path: 'active', value: 'False' }) })
    await expect.poll(() => leavingDay(workplace, 'ana'), patience).toBe(today())
    const deleted = await entra({ method: 'DELETE', path })
    const again = await entra({ method: 'POST', path: '/Users', body: entraUser('ana', { title: 'Advisor' }) })
    await expect
      .poll(() => personOf(workplace, 'ana'), patience)
      .toMatchObject({ jobTitle: 'Advisor', separatedAt: null })
    await entra({ method: 'DELETE', path: `/Users/${again.body.id}` })
    await expect.poll(() => leavingDay(workplace, 'ana'), patience).toBe(today())

    expect([deleted.status, again.status]).toEqual([204, 201])
    expect([...(await workplace.people()).keys()].toSorted()).toEqual(['ana', 'boss'])
  })

  test('holds a mass deactivation while the sender gets 2xx and reads what it wrote, until a person approves', async () => {
    await using workplace = await openScimWorkplace(host)
    const { work } = workplace
    await using daemon = await serve(work)
    const okta = senderOf(daemon, await createScimToken(work))
    const logins = Array.from({ length: 20 }, (_, i) => `u${i}@acme.example`)
    const users = await Promise.all(
      logins.map((login) => okta({ method: 'POST', path: '/Users', body: oktaUser(login) })),
    )
    await expect.poll(async () => (await workplace.people()).size, patience).toBe(20)

    const answers = await Promise.all(
      users.slice(0, 12).map(({ body }) => {
        const path = `/Users/${body.id}`
        return okta({ method: 'PATCH', path, body: patchOf({ op: 'replace', path: 'active', value: false }) })
      }),
    )
    const joined = await okta({ method: 'POST', path: '/Users', body: oktaUser('new@acme.example') })
    await expect.poll(() => heldRuns(work), patience).toMatchObject([{ state: 'held' }])
    await expect.poll(async () => (await workplace.people()).has('00u-new'), patience).toBe(true)
    const [held] = await heldRuns(work)
    const readWhileHeld = await okta({ path: `/Users/${users[0]?.body.id}` })
    const leaversWhileHeld = await leaversOf(workplace)
    const approved = await work.run('approve', held?.id ?? '', '--yes', '--by', 'ops')
    await expect.poll(() => leaversOf(workplace), patience).toHaveLength(12)

    expect(new Set([...answers, joined].map(({ status }) => status))).toEqual(new Set([200, 201]))
    // Those who come later wait behind the run that is held.
    expect(held?.reason).toMatch(/(?:[6-9]|1[0-2]) of 20 people would be separated; the limit is 5/)
    expect(readWhileHeld.body).toMatchObject({ active: false })
    expect(leaversWhileHeld).toEqual([])
    expect(approved.exit).toBe(0)
    expect(await leaversOf(workplace)).not.toContain('00u-new')
  })
})

async function heldRuns(work: ScimWorkplace['work']) {
  const { document } = await work.json<{ runs: { id: string; state: string; reason: string }[] }>(
    'runs',
    '--limit',
    '20',
  )
  return document.runs.filter(({ state }) => state === 'held')
}

async function leaversOf({ people }: ScimWorkplace): Promise<string[]> {
  return [...(await people()).values()].flatMap(({ identityId, separatedAt }) => (separatedAt ? [identityId] : []))
}
