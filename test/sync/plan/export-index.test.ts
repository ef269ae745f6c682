import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Failure } from '../../../src/errors.ts'
import { Mapping } from '../../../src/identity/mapping/mapping.ts'
import { forgetPerson } from '../../../src/store/retention/forget.ts'
import { endHoldBack, holdBack } from '../../../src/sync/requests/hold-backs.ts'
import { answerKeys } from '../../../src/sync/requests/key-answers.ts'
import {
  approveRun,
  classifyValue,
  planDryRun,
  requestDueRuns,
  requestEventRuns,
  requestRun,
  restorePerson,
  retractPerson,
} from '../../../src/sync/sync.ts'
import { receive, terminated, updated } from '../../helpers/events.ts'
import { seed } from '../../helpers/seed.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { isFull } from '../../helpers/tier.ts'
import { reportTrials } from '../../helpers/trials.ts'
import { type FileWorld, openFileWorld, outcomeOf } from '../../helpers/twin-worlds.ts'
import { change, type Host, type HrPerson, headers, staff, startHost, without } from '../../helpers/world.ts'

const stories = Number(process.env.ROLLCALL_STORIES ?? (isFull ? 100 : 1))
const msPerStory = 60_000
const dayMs = 86_400_000

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

/** Damages of an index in the database. */
const harm = {
  part: sql`update export_index_parts set data = set_byte(data, 9, get_byte(data, 9) # 1)`,
  digest: sql`update export_index_parts set data = set_byte(data, 20, get_byte(data, 20) # 1)`,
  'many entries': sql`update export_index_parts set data = set_byte(data, 3, 127)`,
  'fewer entries': sql`update export_index_parts set data = set_byte(data, 0, get_byte(data, 0) - 1)`,
  'no end': sql`update export_index_parts set data = substring(data from 1 for length(data) - 3)`,
  'no parts': sql`delete from export_index_parts`,
  'empty part': sql`update export_index_parts set data = ''`,
  'one more part': sql`insert into export_index_parts (run_id, part, data) select run_id, part + 65536, data from export_index_parts`,
  seal: sql`update export_indexes set seal = set_byte(seal, 3, get_byte(seal, 3) # 1)`,
  head: sql`update export_indexes set head = replace(head, 'open', 'opened')`,
  'no JSON': sql`update export_indexes set head = 'not what it was'`,
  'too many entries in the head': sql`update export_indexes set head = replace(head, '"entries":', '"entries":9000000')`,
  'none in the head': sql`update export_indexes set head = regexp_replace(head, '"entries":[0-9]+', '"entries":0')`,
  all: sql`delete from export_indexes`,
}
const damages = Object.keys(harm) as (keyof typeof harm)[]

type Line = HrPerson | { readonly raw: string }

/** The data of HR, and how it is written. */
type Hr = {
  lines: Line[]
  gone: HrPerson[]
  joined: number
  lineEnd: string
  delimiter: string
  enclosesAll: boolean
}

const anyIndex = fc.nat({ max: 40 })
const days = fc.integer({ min: -4, max: 4 })
/** The actions of HR between two exports. */
const edit = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      does: fc.constant('retitles' as const),
      at: anyIndex,
      title: fc.constantFrom('Pilot', 'Cook', '', 'a "b" c'),
    }),
  },
  { weight: 4, arbitrary: fc.record({ does: fc.constant('dates' as const), at: anyIndex, days }) },
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constant('sets' as const),
      at: anyIndex,
      status: fc.constantFrom('Active', 'Inactive', 'On leave', ''),
    }),
  },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('loses' as const), at: anyIndex }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('finds' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constant('hires' as const),
      key: fc.constantFrom('N', 'N', '1E', '00', '77', 'x​'),
      email: anyIndex,
    }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('breaks' as const), at: anyIndex }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('starts' as const), at: anyIndex, days }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('repeats' as const), at: anyIndex, isSame: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('cleans' as const) }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('moves' as const), at: anyIndex, to: anyIndex }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('reverses' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      does: fc.constant('adds' as const),
      at: anyIndex,
      raw: fc.constantFrom(
        'Total,3,,,,,',
        headers.join(','),
        '',
        'E0001,only',
        'x"y,,,,,,',
        'Total 3,,Tom,,,,',
        ',,,,,,',
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      does: fc.constant('writes' as const),
      lineEnd: fc.constantFrom('\n', '\r\n'),
      delimiter: fc.constantFrom(',', ';'),
      enclosesAll: fc.boolean(),
    }),
  },
)
type Edit = typeof edit extends fc.Arbitrary<infer T> ? T : never

/** Events besides the exports. */
const anyHappening = fc.oneof(
  fc.record({ does: fc.constant('updates' as const), at: anyIndex, hours: fc.integer({ min: -30, max: 3 }) }),
  fc.record({ does: fc.constant('terminates' as const), at: anyIndex, days }),
  fc.record({ does: fc.constant('holdsBack' as const), at: anyIndex, days: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ does: fc.constant('endsHoldBack' as const), at: anyIndex }),
  fc.record({ does: fc.constant('retracts' as const), at: anyIndex }),
  fc.record({ does: fc.constant('restores' as const), at: anyIndex }),
  fc.record({ does: fc.constant('forgets' as const), at: anyIndex }),
  fc.record({ does: fc.constant('classes' as const), meaning: fc.constantFrom('left' as const, 'employed' as const) }),
  fc.record({ does: fc.constant('joinsKeys' as const), at: anyIndex, other: anyIndex }),
  fc.record({ does: fc.constant('maps' as const), lowercase: fc.boolean() }),
  fc.record({ does: fc.constant('rereads' as const), at: anyIndex }),
  fc.record({
    does: fc.constant('damages' as const),
    what: fc.constantFrom(...damages),
  }),
)
type Happening = typeof anyHappening extends fc.Arbitrary<infer T> ? T : never

const anyNight = fc.record({
  edits: fc.array(edit, { maxLength: 4, size: 'max' }),
  happenings: fc.array(anyHappening, { maxLength: 2, size: 'max' }),
  days: fc.constantFrom(1, 1, 1, 0, 2, 5),
  refuses: fc.option(anyIndex, { freq: 3 }),
  approves: fc.boolean(),
  chunkBytes: fc.constantFrom(60, 200, 300, 500),
  isStale: fc.integer({ min: 0, max: 15 }).map((number) => number === 0),
})
type Night = typeof anyNight extends fc.Arbitrary<infer T> ? T : never

const quiet: Night = {
  ...{ edits: [], happenings: [], days: 1, refuses: null, approves: true, chunkBytes: 60, isStale: false },
}
const nightOf = (...edits: Edit[]): Night => ({ ...quiet, edits })

/** Nights that chance brings together too seldom. Other tests of this file and of waiting rows show the second and the third. */
const allRare: [number, number, Night[]][] = [
  // A leaver is in the export again, in unusable rows.
  [
    12,
    3,
    [
      quiet,
      nightOf({ does: 'loses', at: 5 }),
      quiet,
      nightOf({ does: 'finds' }, { does: 'repeats', at: 11, isSame: false }),
      quiet,
    ],
  ],
  // A person whose leaving date lies ahead is missing.
  [12, 3, [quiet, nightOf({ does: 'dates', at: 5, days: 4 }), quiet, nightOf({ does: 'loses', at: 5 }), quiet]],
  // A day that lay ahead has come.
  [12, 3, [quiet, nightOf({ does: 'dates', at: 5, days: 2 }), quiet, quiet, quiet]],
]
const rare = isFull ? allRare : allRare.slice(0, 1)

describe('an export that is compared with the last index', () => {
  test('makes the same plans as a full read, whatever HR, people and days do', {
    timeout: 60_000 + (stories + rare.length) * msPerStory,
  }, async ({ task }) => {
    const counts = { nights: 0, leftOut: 0, together: 0, whole: 0 }
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 12, max: 24 }),
        fc.constantFrom(3, 10, 100),
        fc.noBias(fc.array(anyNight, { minLength: 8, maxLength: 8 })),
        async (people, telling, nights) => {
          await using sparing = await openFileWorld(host, { isSparing: true, sampleSize: telling })
          await using whole = await openFileWorld(host, { isSparing: false, sampleSize: telling })
          const hr: Hr = {
            lines: company(people),
            gone: [],
            joined: 0,
            lineEnd: '\n',
            delimiter: ',',
            enclosesAll: false,
          }
          for (const each of nights) {
            for (const done of each.edits) apply(hr, done, sparing.world.clock.now)
            const text = written(hr)
            const [ours, theirs] = [await pass(sparing, text, hr, each), await pass(whole, text, hr, each)]
            expect(ours).toEqual(theirs)
            counts.nights += 1
          }
          counts.leftOut += sparing.skipped.total
          counts.together += sparing.skipped.inRanges
          counts.whole += sparing.world.events.filter(
            (event) => 'event' in event && event.event === 'run.full_read',
          ).length
        },
      ),
      { numRuns: stories + rare.length, seed, endOnFailure: true, examples: rare },
    )
    reportTrials(task, {
      subject: 'exports beside what the last one left behind against ones that are read whole',
      times: `${counts.nights} nights (seed ${seed})`,
      result: `${counts.leftOut} rows left out, ${counts.together} of them together, ${counts.whole} exports read whole after all`,
    })
    expect(counts.leftOut).toBeGreaterThan(counts.nights)
    expect(counts.together).toBeGreaterThan(counts.nights)
  })
})

describe.each(databases)('on $name', ({ createDatabase }) => {
  async function open(options: { sampleSize?: number } = {}) {
    const stack = new AsyncDisposableStack()
    const { at } = stack.use(await createDatabase())
    const file = stack.use(await openFileWorld(host, { isSparing: true, at, ...options }))
    const night = async (lines: readonly Line[], day: number) => {
      const before = file.skipped.total
      const eventCount = file.world.events.length
      const hr = { ...nothingYet(), lines: [...lines] }
      const asOf = `2026-11-${day}T01:00:00.000Z`
      file.world.clock.now = new Date(`2026-11-${day}T03:00:00.000Z`)
      Object.assign(file.shown, { text: written(hr), asOf })
      const { id } = await requestRun(file.world.sync, { connection: 'acme', trigger: 'operator' })
      await file.world.drain()
      const reasons = file.world.events.slice(eventCount).flatMap((event) => ('reason' in event ? [event.reason] : []))
      return { run: await file.world.runOf(id), leftOut: file.skipped.total - before, reasons }
    }
    return { ...file, night, [Symbol.asyncDispose]: () => stack.disposeAsync() }
  }

  test('unchanged rows are counted and not parsed again', async () => {
    await using file = await open()

    const first = await file.night(company(30), 20)
    const second = await file.night(company(30), 21)
    const third = await file.night(change(company(30), { id: 'E0025', title: 'Pilot' }), 22)

    expect([first.leftOut, first.reasons]).toEqual([0, []])
    expect(second.leftOut).toBeGreaterThan(20)
    expect(second.run).toMatchObject({ state: 'unchanged', rows: 30, records: 30, counts: { unchanged: 30 } })
    expect(third.leftOut).toBe(second.leftOut - 1)
    expect(third.run).toMatchObject({ state: 'finished', counts: { unchanged: 29, update: 1 } })
  })

  test('missing people are found among rows that were skipped before', async () => {
    await using file = await open()
    await file.night(company(30), 20)
    await file.night(company(30), 21)

    const { run, leftOut } = await file.night(without(company(30), 'E0025', 'E0002'), 22)

    expect(run).toMatchObject({ state: 'finished', counts: { leave: 2, unchanged: 28 } })
    expect(leftOut).toBeGreaterThan(20)
  })

  test('a person whose row was parsed every night because of a future date is found missing', async () => {
    await using file = await open()
    const announced = change(company(30), { id: 'E0025', leavingDate: '2026-12-24' })
    await file.night(announced, 20)
    const before = await file.night(announced, 21)
    await file.night(announced, 22)

    const { run } = await file.night(without(announced, 'E0025'), 23)

    expect(before.run).toMatchObject({ state: 'unchanged' })
    expect(run).toMatchObject({ state: 'finished', counts: { leave: 1, unchanged: 29 } })
  })

  /** One way of finding a damage each. */
  const few: readonly string[] = ['part', 'no parts', 'seal']

  test.each(damages.filter((column) => column !== 'all' && (isFull || few.includes(column))))(
    'a damaged index (%s) causes a full read, which is logged',
    async (column) => {
      await using file = await open()
      await file.night(company(30), 20)
      await damage(file.world, column)

      const damaged = await file.night(company(30), 21)
      const next = await file.night(company(30), 22)

      expect(damaged).toMatchObject({ leftOut: 0, reasons: [expect.stringContaining('is damaged')] })
      expect(damaged.run).toMatchObject({ state: 'unchanged', counts: { unchanged: 30 } })
      expect([next.leftOut > 20, next.reasons]).toEqual([true, []])
    },
  )

  test('a duplicate row causes a full read, which is logged', async () => {
    await using file = await open()
    await file.night(company(30), 20)

    const { run, reasons } = await file.night([...company(30), ...company(30).slice(-1)], 21)

    expect(run).toMatchObject({ counts: { unchanged: 29, rejected: 2 } })
    expect(reasons).toEqual(['a key stands in the export twice'])
  })

  test('a shared address is found when its people move into the sample', async () => {
    await using file = await open({ sampleSize: 20 })
    const people = company(60).map((person, at) =>
      at === 41 || at === 42 ? { ...person, email: 'both@acme.example' } : person,
    )

    const first = await file.night(people, 20)
    const second = await file.night(people, 21)
    // With so many moved rows, all other rows are looked up, wherever they are.
    const third = await file.night(people.toReversed(), 22)

    const warning = expect.stringContaining('the e-mail address of somebody else')
    expect(first.run.warnings).not.toContainEqual(warning)
    expect(second.run.warnings).toEqual(first.run.warnings)
    expect(third.run.warnings).toContainEqual(warning)
    expect(third.leftOut).toBeGreaterThan(20)
  })

  test('a person who was changed since the last export is parsed again', async () => {
    await using file = await open()
    const { sync } = file.world
    await file.night(company(30), 20)
    const before = await file.night(company(30), 21)
    await holdBack(sync, { connection: 'acme', identityId: 'E0025', until: '2026-12-24', reason: 'so', by: 'ana' })
    await sql`update roster set uncertain = false where identity_id = 'E0026'`.execute(sync.store.db)

    const after = await file.night(company(30), 22)
    const later = await file.night(company(30), 23)

    expect(before.leftOut - after.leftOut).toBe(2)
    // Nothing happened to the other one since.
    expect(before.leftOut - later.leftOut).toBe(1)
  })
})

/** People with different start dates: if all dates of a column are equal, every row has to be checked. */
function company(people: number): HrPerson[] {
  return staff(people).map((person, at) => ({ ...person, start: `2020-01-${String(10 + (at % 20))}` }))
}

function nothingYet(): Hr {
  return { lines: [], gone: [], joined: 0, lineEnd: '\n', delimiter: ',', enclosesAll: false }
}

/** One night in one of the worlds. */
async function pass(
  opened: FileWorld,
  text: string,
  hr: Hr,
  { happenings, days: passed, refuses, approves, chunkBytes, isStale }: Night,
) {
  const { world, shown } = opened
  const { sync, clock } = world
  clock.now = new Date(clock.now.getTime() + passed * dayMs + 60_000)
  for (const each of happenings) {
    await happen(opened, hr, each)
    await world.drain()
  }
  const asOf = new Date(clock.now.getTime() - (isStale ? 40 : 0) * dayMs - 60 * 60_000).toISOString()
  Object.assign(shown, { text, asOf, chunkBytes, delimiter: hr.delimiter })
  clock.now = new Date(clock.now.getTime() + 60_000)
  const { kept: _, ...looked } = await planDryRun(sync, 'acme', new AbortController().signal)
  const { platform } = sync
  const refused = refuses === null ? undefined : keyAt(hr, refuses)
  if (refused !== undefined)
    Object.assign(sync, { platform: { ...platform, client: refusing(platform.client, refused) } })
  const { id } = await requestRun(sync, { connection: 'acme', trigger: 'operator' })
  await world.drain()
  const planned = await outcomeOf(world, await world.runOf(id))
  const run = await world.runOf(id)
  if (run.state === 'held' && approves) {
    await ifAllowed(approveRun(sync, { runId: id, digest: run.digest ?? '', by: 'ana' }))
    await world.drain()
  }
  Object.assign(sync, { platform })
  await requestDueRuns(sync)
  await world.drain()
  return { looked, planned, after: await outcomeOf(world, await world.runOf(id)) }
}

async function happen({ world }: FileWorld, hr: Hr, happening: Happening): Promise<void> {
  const { sync, clock } = world
  const { db } = sync.store
  const person = (index: number) => ({
    connection: 'acme',
    identityId: keyAt(hr, index) ?? 'E0001',
    by: 'ana',
    reason: 'so',
  })
  const dayOf = (count: number) => new Date(clock.now.getTime() + count * dayMs).toISOString().slice(0, 10)
  switch (happening.does) {
    case 'updates':
    case 'terminates': {
      const { identityId } = person(happening.at)
      const ago = happening.does === 'updates' ? happening.hours * 60 * 60_000 : 0
      const time = new Date(clock.now.getTime() + Math.min(0, ago)).toISOString()
      await receive(
        world,
        happening.does === 'updates'
          ? updated(identityId, 'Judge', time)
          : terminated(identityId, dayOf(happening.days), time),
      )
      clock.now = new Date(clock.now.getTime() + 6000)
      await requestEventRuns(sync)
      return
    }
    case 'holdsBack':
      return await ifAllowed(holdBack(sync, { ...person(happening.at), until: dayOf(happening.days) }))
    case 'endsHoldBack':
      return await ifAllowed(endHoldBack(sync, person(happening.at)))
    case 'retracts':
      return await ifAllowed(retractPerson(sync, person(happening.at)))
    case 'restores':
      return await ifAllowed(restorePerson(sync, person(happening.at)))
    case 'forgets':
      return await ifAllowed(forgetPerson(db, { ...person(happening.at), today: dayOf(0), now: clock.now }))
    case 'classes':
      await classifyValue(sync, { connection: 'acme', value: 'On leave', meaning: happening.meaning, by: 'ana' })
      return
    case 'joinsKeys': {
      const [former, identityId] = [keyAt(hr, happening.at), keyAt(hr, happening.other)]
      if (former === undefined || identityId === undefined) return
      return await ifAllowed(answerKeys(sync, { connection: 'acme', former, identityId, same: true, by: 'ana' }))
    }
    case 'maps': {
      const { source } = world.connection.feeds
      if (!source) return
      const fields = { ...source.mapping.fields, jobTitle: { column: 'Job Title', lowercase: happening.lowercase } }
      Object.assign(source, { mapping: Mapping.parse({ ...source.mapping, fields }) })
      return
    }
    case 'rereads':
      await requestRun(sync, { connection: 'acme', trigger: 'operator', options: { full: true } })
      return
    case 'damages':
      return await damage(world, happening.what)
    default:
      return happening satisfies never
  }
}

async function damage({ sync }: FileWorld['world'], column: keyof typeof harm): Promise<void> {
  await harm[column].execute(sync.store.db)
}

type Client = FileWorld['world']['sync']['platform']['client']

/** Refuses whatever is sent about a person. */
function refusing(client: Client, identityId: string): Client {
  const refusal = { status: 400, error: { message: 'not today', code: 1, name: 'BadRequest' }, headers: {} } as const
  const isAbout = (input: unknown) => JSON.stringify(input).includes(`${identityId}"`)
  return {
    ...client,
    upsertHrisUserIdentities: async (input, options) =>
      isAbout(input) ? refusal : await client.upsertHrisUserIdentities(input, options),
    updateHrisUserIdentity: async (input, options) =>
      isAbout(input) ? refusal : await client.updateHrisUserIdentity(input, options),
  }
}

function apply(hr: Hr, done: Edit, now: Date): void {
  const dayOf = (count: number) => new Date(now.getTime() + count * dayMs).toISOString().slice(0, 10)
  const edited = (nth: number, changed: Partial<HrPerson>) => {
    const index = nth % Math.max(1, hr.lines.length)
    const line = hr.lines[index]
    if (line && 'id' in line) hr.lines[index] = { ...line, ...changed }
  }
  switch (done.does) {
    case 'retitles':
      edited(done.at, { title: done.title })
      return
    case 'dates':
      edited(done.at, { leavingDate: done.days === 0 ? '' : dayOf(done.days) })
      return
    case 'starts':
      edited(done.at, { start: dayOf(done.days) })
      return
    case 'sets':
      edited(done.at, { status: done.status })
      return
    case 'breaks':
      edited(done.at, { start: '2026-02-31' })
      return
    case 'loses': {
      const [line] = hr.lines.splice(done.at % Math.max(1, hr.lines.length), 1)
      if (line && 'id' in line) hr.gone.push(line)
      return
    }
    case 'finds': {
      const line = hr.gone.shift()
      if (line) hr.lines.push(line)
      return
    }
    case 'hires': {
      hr.joined += 1
      const id = `${done.key}${hr.joined}`
      hr.lines.push({ id, email: `e${done.email}@acme.example`, first: 'New', start: dayOf(0), status: 'Active' })
      return
    }
    case 'repeats': {
      const line = hr.lines[done.at % Math.max(1, hr.lines.length)]
      if (line && 'id' in line) hr.lines.push(done.isSame ? line : { ...line, title: 'Other' })
      return
    }
    case 'cleans': {
      const keys = new Set<string>()
      hr.lines = hr.lines.filter((line) => {
        const isFirst = 'id' in line && !keys.has(line.id)
        if ('id' in line) keys.add(line.id)
        return isFirst
      })
      hr.lines = hr.lines.map((line) =>
        'id' in line && line.start === '2026-02-31' ? { ...line, start: '2020-01-06' } : line,
      )
      return
    }
    case 'moves': {
      const [line] = hr.lines.splice(done.at % Math.max(1, hr.lines.length), 1)
      if (line) hr.lines.splice(done.to % (hr.lines.length + 1), 0, line)
      return
    }
    case 'reverses':
      hr.lines.reverse()
      return
    case 'adds':
      hr.lines.splice(done.at % (hr.lines.length + 1), 0, { raw: done.raw })
      return
    case 'writes': {
      const { lineEnd, delimiter, enclosesAll } = done
      Object.assign(hr, { lineEnd, delimiter, enclosesAll })
      return
    }
    default:
      done satisfies never
  }
}

function keyAt({ lines, gone }: Hr, index: number): string | undefined {
  const people = [...lines, ...gone].flatMap((line) => ('id' in line ? [line.id] : []))
  return people[index % Math.max(1, people.length)]
}

function written({ lines, lineEnd, delimiter, enclosesAll }: Hr): string {
  const cell = (text: string) => (enclosesAll || /[",;\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
  const rows = lines.map((line) => {
    if ('raw' in line) return line.raw.replaceAll(',', delimiter)
    const { id, email = '', first = '', title = '', start = '', leavingDate: left = '', status = '' } = line
    return [id, email, first, title, start, left, status].map(cell).join(delimiter)
  })
  return [headers.join(delimiter), ...rows].map((line) => line + lineEnd).join('')
}

/** A request that comes too early or too late is refused, and changes nothing. */
async function ifAllowed(act: Promise<unknown>): Promise<void> {
  await act.catch((error: unknown) => {
    if (!(error instanceof Failure)) throw error
  })
}
