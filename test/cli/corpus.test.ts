import { appendFile, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { call } from '../helpers/called.ts'
import { createPostgresDatabase } from '../helpers/servers/databases.ts'
import { type Host, peopleOn, startHost } from '../helpers/world.ts'

/**
 * Exports that went wrong in the hands of others, from the first command to the platform, with nothing said beyond what `init --yes` takes
 * by itself: each ends right, or is held or refused with a reason. None ends wrong with exit code 0.
 */
const fixtures = fileURLToPath(new URL('../fixtures/', import.meta.url))

let host: Host
let folder = ''
beforeAll(async () => {
  host = await startHost()
  folder = await mkdtemp(join(tmpdir(), 'rollcall-test-'))
})
afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
  await host[Symbol.asyncDispose]()
})

/** The exit codes of the commands, what the last one said, and what the platform has of it. */
async function fromFileToPlatform(file: string, ...args: string[]) {
  const { key, client } = await host.tenant()
  const installation = await mkdtemp(join(folder, 'installation-'))
  await writeFile(join(installation, 'key'), `${key}\n`)
  await using database = await createPostgresDatabase()
  const out = join(installation, 'rollcall.yaml')
  const platform = ['--platform-url', host.platform.baseUrl, '--key-file', join(installation, 'key')]
  const init = await call(['init', '--yes', '--source', join(fixtures, file), '--out', out, ...platform, ...args])
  if (init.exit !== 0) return { exits: [init.exit], said: init.stderr, people: new Map(), left: [] }
  // Its address may have a password, which is refused in the configuration itself.
  await writeFile(join(installation, 'database'), database.at)
  await appendFile(out, 'database: ${file:database}\n')
  const check = await call(['check', '--config', out])
  const plan = await call(['plan', '--config', out])
  const sync = await call(['sync', '--config', out])
  const people = await peopleOn(client)
  const leavers = [...people].flatMap(([id, { separatedAt }]) =>
    separatedAt ? [`${id} ${separatedAt.slice(0, 10)}`] : [],
  )
  return { exits: [check.exit, plan.exit, sync.exit], said: sync.stdout, people, left: leavers.toSorted() }
}

function isPast(day: string): boolean {
  return Temporal.Now.plainDateISO('UTC').toString() >= day
}

describe('delivered as HR means it', () => {
  test.each([
    // A row of 31 January 2027 says that one person has left.
    { name: 'effective-dated-rows', count: 20, left: isPast('2027-01-31') ? ['1003 2027-01-31'] : [] },
    { name: 'employed-with-a-past-leaving-date', count: 21, left: ['1020 2026-06-30'] },
    { name: 'full-name-only', count: 20, left: [] },
    { name: 'manager-keys-as-floats', count: 30, left: [] },
    { name: 'sql-default-dates', count: 50, left: [] },
    { name: 'unpadded-dates', count: 20, left: [] },
  ])('$name', async ({ name, count, left }) => {
    const end = await fromFileToPlatform(`first-hour/${name}.csv`)

    expect({ ...end, people: end.people.size }).toMatchObject({ exits: [0, 0, 0], people: count, left })
  })
})

describe('held or refused with a reason, and nobody is sent', () => {
  test.each([
    { name: 'frappe-hr', exits: [65, 65, 65], reason: 'status "Inactive" in 4 rows' },
    { name: 'zero-dates', exits: [65, 65, 65], reason: 'status "Inactive" in 1 row' },
    { name: 'sap-german', exits: [65, 65, 65], reason: '39 of 39 people start on 2020-03-01' },
    { name: 'header-again-in-another-order', exits: [66, 66, 66], reason: 'names the columns again, in another order' },
    { name: 'adp-row-per-position', exits: [2], reason: "use --date-format 'MM/dd/yyyy'" },
    {
      name: 'adp-row-per-position',
      args: ['--date-format', 'MM/dd/yyyy'],
      exits: [65, 65, 65],
      reason: '40 of 40 people start on 2020-03-01',
    },
  ])('$name $args', async ({ name, args = [], exits, reason }) => {
    const end = await fromFileToPlatform(`first-hour/${name}.csv`, ...args)

    expect(end).toMatchObject({ exits, said: expect.stringContaining(reason), people: new Map() })
  })
})

test('exports of known systems: only leavers are separated, or the plan is held', {
  timeout: 1_200_000,
  tags: ['full'],
}, async () => {
  const files = (await readdir(join(fixtures, 'presets'))).filter((name) => name.endsWith('.csv'))
  const wrong: object[] = []
  for (const file of files) {
    const { exits, said: output, people } = await fromFileToPlatform(`presets/${file}`)
    const separated = [...people.values()].flatMap(({ email, separatedAt }) => (separatedAt ? [email] : []))
    const isHeld = exits.at(-1) !== 0 && people.size === 0
    const hasLeaver = [...people.values()].some(({ firstName }) => firstName === 'Paul')
    const isRight = exits.at(-1) === 0 && hasLeaver === separated.some((email) => email?.startsWith('paul.'))
    const isStaying = (email: string | null | undefined) =>
      /^(ines|jonas|mira|tariq|grace|dmitri|wei)\./.test(email ?? '')
    if (!(isHeld || isRight) || separated.some(isStaying)) wrong.push({ file, exits, said: output, separated })
  }
  expect(files.length).toBeGreaterThan(20)
  expect(wrong).toEqual([])
})
