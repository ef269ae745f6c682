import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { LeaverPack } from '../../../src/contract/control/leavers.ts'
import { leaverHandlers } from '../../../src/daemon/control/leavers.ts'
import { auditKey, newKeyPem, publicPem, Signing } from '../../../src/store/audit/key.ts'
import { signPending } from '../../../src/store/audit/sign.ts'
import { removeExpired } from '../../../src/store/retention/retain.ts'
import { type ExportFolder, exportFolder } from '../../helpers/sources/exports.ts'
import { change, type Host, openWorld, staff, startHost, type World, without } from '../../helpers/world.ts'

let host: Host
let folder: ExportFolder
beforeAll(async () => {
  host = await startHost()
  folder = await exportFolder()
})
afterAll(async () => {
  await host[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
})

const run = promisify(execFile)
const key = auditKey(newKeyPem(), 'the key of the test')
type Files = LeaverPack['files']

async function openSigned(): Promise<World> {
  const { client } = await host.tenant()
  return await openWorld({ client, signing: new Signing(key) })
}

type PackOptions = { readonly from: string; readonly to: string; readonly afterSeal?: () => Promise<unknown> }

async function packOf({ sync }: World, { afterSeal, ...period }: PackOptions): Promise<Files> {
  const seal = async () => {
    await signPending(sync.store.db, { key, kept: null, now: sync.now() })
    await afterSeal?.()
  }
  const context = { sync, monitored: { maxLeaverHours: new Map() }, audit: { seal } }
  const { body } = (await leaverHandlers.packLeavers(
    context as never,
    { query: { ...period, values: false } } as never,
  )) as {
    body: LeaverPack
  }
  return body.files
}

/** The pack with a changed file, signed by the installation as if it had been so. */
function withLie(files: Files, name: string, lie: (content: string) => string): Files {
  const changed = files.map((file) => (file.name === name ? { ...file, content: lie(file.content) } : file))
  const sum = (of: Files) => hash('sha256', of.find((file) => file.name === name)?.content ?? '')
  if (sum(files) === sum(changed)) throw new Error(`${name} was not changed`)
  const manifest = (files.find((file) => file.name === 'MANIFEST')?.content ?? '').replace(sum(files), sum(changed))
  return changed.map((file) => {
    if (file.name === 'MANIFEST') return { ...file, content: manifest }
    return file.name === 'MANIFEST.sig' ? { ...file, content: key.sign(manifest) } : file
  })
}

/** What verify.mjs of a pack says of it. */
async function verified(files: Files, { isKeyGiven = true } = {}): Promise<string> {
  const path = join(folder.path, 'pack')
  for (const { name, content, encoding } of files) {
    await mkdir(dirname(join(path, name)), { recursive: true })
    await writeFile(join(path, name), Buffer.from(content, encoding))
  }
  await writeFile(join(path, 'given.pem'), publicPem(key.publicKey))
  const { stdout } = await run(process.execPath, ['verify.mjs', ...(isKeyGiven ? ['given.pem'] : [])], {
    cwd: path,
  }).catch((error: { stdout: string }) => error)
  return stdout.trim()
}

const contentOf = (files: Files, name: string) => files.find((file) => file.name === name)?.content ?? ''
const inPopulation = (name: string) => `population/acme/${name}`

test('verify.mjs finds each thing that the page of the pack tells how to find', async () => {
  await using world = await openSigned()
  const people = [...staff(8), { ...staff(9)[8], id: '=1,"2"' }]
  await world.night(people, { asOf: '2026-11-19T01:00:00.000Z' })
  world.clock.now = new Date('2026-11-21T03:00:00.000Z')
  const second = change(without(people, 'E0005'), { id: 'E0003', leavingDate: '2026-11-19', status: 'Inactive' })
  await world.night(second, { asOf: '2026-11-21T01:00:00.000Z' })
  const files = await packOf(world, { from: '2026-11-21', to: '2026-12-31' })
  const lies: readonly (readonly [name: string, lie: (content: string) => string, finding: RegExp])[] = [
    ['statement-end.json', (text) => text.replace('"addsUp": true', '"addsUp": false'), /"addsUp" of .* not that of/],
    [
      'statement-start.json',
      (text) => text.replace('"employed": 9', '"employed": 8'),
      /"stated" of .* not that of the audit/,
    ],
    ['statement-end.json', (text) => text.replace('"delivered": 8', '"delivered": 9'), /"rows" of/],
    ['statement-end.json', (text) => text.replace(/"runId": "./, '"runId": "x'), /has no entry/],
    ['statement-end.json', (text) => text.replace('"madeAt": "2026', '"madeAt": "2025'), /has no entry/],
    ['left.txt', (text) => text.replace('E0005\n', ''), /are not the end and who left/],
    ['movements.csv', (text) => text.replace('false', 'true'), /does not have everybody of/],
    ['accounted-end.csv', (text) => text.replace('true,"left"', 'true,"employed"'), /the people in employed are not/],
    ['export-end.txt', (text) => text.replace(/^.*\n/, ''), /not what the statement sums up/],
    ['export-end.txt', (text) => text.replace('E0001', 'E9991'), /the digest of E9991 is another one/],
  ]

  expect(await verified(files)).toMatch(
    /^rollcall report of leavers, 2026-11-21 to 2026-12-31, made at .*\nacme, .*\nvalid: /,
  )
  const added = { name: 'population/berlin/end.txt', content: 'E1\n', encoding: 'utf8' } as const
  expect(await verified([...files, added])).toContain(
    'not in MANIFEST, so not part of the pack: ["population/berlin","population/berlin/end.txt"]',
  )
  await rm(join(folder.path, 'pack', 'population', 'berlin'), { recursive: true })
  expect(await verified(files, { isKeyGiven: false })).toMatch(
    /^valid with the key beside the files, which anybody can/m,
  )
  expect(contentOf(files, inPopulation('removed.txt'))).toBe('')
  for (const [name, lie, finding] of lies)
    expect(await verified(withLie(files, inPopulation(name), lie)), name).toMatch(finding)
})

test('a pack says which nights were removed, and begins with the first one that is kept', async () => {
  await using world = await openSigned()
  const { db } = world.sync.store
  const people = staff(12)
  const nights = ['2022-01-10', '2022-01-11', '2026-11-20']
  for (const [at, day] of nights.entries()) {
    world.clock.now = new Date(`${day}T03:00:00.000Z`)
    await world.night(without(people, `E000${at + 1}`), { asOf: `${day}T01:00:00.000Z` })
  }
  // The newest hundred runs of a connection stay in any case.
  await sql`
    insert into runs (id, connection, feed, trigger, options, state, created_at, finished_at)
    select gen_random_uuid(), 'acme', 'source', 'schedule', '{}', 'unchanged', ${world.clock.now}::timestamptz + n * interval '1 second',
      ${world.clock.now}::timestamptz + n * interval '1 second' from generate_series(1, 105) n`.execute(db)
  const whole = await packOf(world, { from: '2022-01-11', to: '2026-12-31' })
  expect(contentOf(whole, inPopulation('removed.txt'))).toBe('')
  expect(contentOf(whole, 'HOW-TO-VERIFY.txt')).not.toContain('not complete')

  const settings = { valuesDays: 30, historyDays: 400 }
  for (let calls = 0; calls < 4; calls += 1) await removeExpired(db, settings, world.clock.now)
  const files = await packOf(world, { from: '2022-01-11', to: '2026-12-31' })

  const removed = contentOf(files, inPopulation('removed.txt')).trim().split('\n')
  expect(removed.map((line) => line.slice(0, 10))).toEqual(['2022-01-10', '2022-01-11'])
  expect(contentOf(files, 'HOW-TO-VERIFY.txt')).toMatch(
    /acme: 2 statements from 2022-01-10T\S+ to 2022-01-11T\S+; its population begins at 2026-11-20T/,
  )
  expect(contentOf(files, inPopulation('start.txt'))).toBe(contentOf(files, inPopulation('end.txt')))
  expect(contentOf(files, inPopulation('entered.txt'))).toBe('')
  expect(await verified(files)).toMatch(/ 1 made, 0 not adding up, 2 removed; .*\nvalid: /)
})

test('verify.mjs says which nights did not add up, and how long there was no statement', async () => {
  await using world = await openSigned()
  const { db } = world.sync.store
  const people = staff(12)
  const nightOf = async (day: string) => {
    world.clock.now = new Date(`${day}T03:00:00.000Z`)
    return await world.night(people, { asOf: `${day}T01:00:00.000Z` })
  }
  await nightOf('2026-11-18')
  await db.deleteFrom('stated_keys').where('identity_id', '=', 'E0003').execute()
  const { id } = await nightOf('2026-11-19')
  await db.insertInto('stated_keys').values({ connection: 'acme', identity_id: 'E0003', treatment: null }).execute()
  await nightOf('2026-11-23')
  world.clock.now = new Date('2026-12-10T03:01:00.000Z')

  const output = await verified(await packOf(world, { from: '2026-11-19', to: '2026-12-31' }))

  expect(output).toContain(
    `acme, 2026-11-19 to 2026-12-31: statements from 2026-11-18T03:01:00.000Z to 2026-11-23T03:01:00.000Z: 3 made, 1 not adding up (after the runs ${id}), 0 removed; the longest time without one is 408 hours, after 2026-11-23T03:01:00.000Z`,
  )
  expect(output).toMatch(/^valid: /m)
  const inPeriod = await verified(await packOf(world, { from: '2026-11-19', to: '2026-11-23' }))
  expect(inPeriod).toContain('the longest time without one is 96 hours, after 2026-11-19T03:01:00.000Z')
  const differing = await verified(await packOf(world, { from: '2026-11-19', to: '2026-11-19' }))
  expect(differing).toMatch(/^acme, .* 1 not adding up/m)
  expect(differing).toContain(`\nauthentic, but the statement after run ${id} does not add up: `)
})

test('a pack is of one moment: the statement of a night that ends meanwhile is not in it', async () => {
  await using world = await openSigned()
  const people = staff(12)
  await world.night(people, { asOf: '2026-11-19T01:00:00.000Z' })
  const afterSeal = () => world.night(without(people, 'E0005'), { asOf: '2026-11-20T01:00:00.000Z' })

  const files = await packOf(world, { from: '2026-11-01', to: '2026-12-31', afterSeal })

  expect(await verified(files)).toMatch(/ 1 made, .*\nvalid: /)
})
