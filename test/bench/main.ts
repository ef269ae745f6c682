import { parseArgs } from 'node:util'
import { type Server, type ServerKind, startOwnServer, startServer } from '../helpers/servers/servers.ts'
import { measureConnections } from './connections.ts'
import { deliverBesideVisits } from './console.ts'
import { halvesOfCores } from './cores.ts'
import { delays, figures, type Row, rate, ratio, round, table } from './figures.ts'
import { houseRows } from './house.ts'
import { measureIdle } from './idle.ts'
import { measureInstalls } from './install.ts'
import { measureLists } from './list.ts'
import { measureNights, nightRow } from './night.ts'
import { type EnvironmentOptions, openEnvironment } from './place.ts'
import { measurePlans, planComparisons, planRow } from './plan.ts'
import { measurePlatform } from './platform.ts'
import { simulate } from './simulate.ts'
import { measureStarts } from './start.ts'
import { measureStatements } from './statement.ts'
import { measure } from './tasks.ts'
import { receiveWebhooks } from './webhooks.ts'
import { measureWorkbooks } from './workbook.ts'

const stores = ['PGlite', 'PostgreSQL', 'PostgreSQL+Redis'] as const
const usage = `npm run bench -- plan|deliver|records [--sizes 10000,100000] [--stores PGlite,PostgreSQL,PostgreSQL+Redis] [--together] [--json]
npm run bench -- statement [--sizes 100000] [--stores PostgreSQL] [--json]
npm run bench -- console [--sizes 20000] [--stores PostgreSQL] [--rate 200] [--together] [--json]
npm run bench -- list [--sizes 100000] [--json]
npm run bench -- workbook [--sizes 200000] [--json]
npm run bench -- night [--sizes 20000,100000] [--json]
npm run bench -- connections [--connections 1000] [--json]
npm run bench -- webhook [--rate 2000] [--seconds 30] [--json]
npm run bench -- platform [--identities 1000000] [--assets 100000] [--controls 100000] [--json]
npm run bench -- start [--rounds 10] [--json]
npm run bench -- idle [--seconds 30] [--json]
npm run bench -- install [--json]
npm run bench -- house [--json]
npm run bench -- simulate [--stores PostgreSQL,PostgreSQL+Redis] [--connections 1000] [--speed 10] [--json]`

type Placed<Finding> = { readonly people: number; readonly store: string } & Finding

const benches: Readonly<Record<string, typeof benchDeliver>> = {
  deliver: benchDeliver,
  records: (options) => benchDeliver({ ...options, as: 'records' }),
  console: benchConsole,
  statement: measureStatements,
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    sizes: { type: 'string' },
    stores: { type: 'string', default: stores.join(',') },
    rate: { type: 'string' },
    seconds: { type: 'string', default: '30' },
    identities: { type: 'string', default: '1000000' },
    assets: { type: 'string', default: '100000' },
    controls: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '10' },
    connections: { type: 'string', default: '1000' },
    speed: { type: 'string', default: '10' },
    together: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})
const bench = benches[positionals[0] ?? '']
const isDelivering = bench !== undefined
const sizes = (values.sizes ?? (positionals[0] === 'night' ? '20000,100000' : '10000,100000')).split(',').map(Number)
const chosen = stores.filter((store) => values.stores.split(',').includes(store))
const isPlaced = chosen.length > 0 && sizes.every(isCount)
// In production the platform is another machine, and takes no processor time from its client.
const cores = isDelivering && !values.together ? halvesOfCores() : null
const load = { rate: Number(values.rate ?? 2000), seconds: Number(values.seconds) }
const visitsPerSecond = Number(values.rate ?? 200)
const amounts = {
  identities: Number(values.identities),
  assets: Number(values.assets),
  controls: Number(values.controls),
}
const simulated = { connections: Number(values.connections), speed: Number(values.speed) }

if (positionals[0] === 'platform' && Object.values(amounts).every(isCount)) print(await benchPlatform())
else if (positionals[0] === 'webhook' && [load.rate, load.seconds].every(isCount)) print(await benchWebhook())
else if (positionals[0] === 'list' && sizes.every(isCount)) print(await benchList())
else if (positionals[0] === 'night' && sizes.every(isCount)) print(await benchNights())
else if (positionals[0] === 'workbook' && sizes.every(isCount)) print(await benchWorkbooks())
else if (positionals[0] === 'idle' && isCount(load.seconds)) print(await benchIdle())
else if (positionals[0] === 'simulate' && Object.values(simulated).every(isCount)) print(await benchSimulate())
else if (positionals[0] === 'connections' && isCount(simulated.connections)) print(await benchConnections())
else if (positionals[0] === 'install') print(await benchInstall())
else if (positionals[0] === 'house') print(houseRows(positionals.slice(1)))
else if (positionals[0] === 'start' && isCount(Number(values.rounds))) print(await benchStart())
else if (positionals[0] === 'plan' && isPlaced) print(await benchPlan())
else if (bench !== undefined && isPlaced) print(await runAll(bench))
else {
  process.stderr.write(`${usage}\n`)
  process.exitCode = 2
}

function isCount(value: number): boolean {
  return Number.isInteger(value) && value > 0
}

/** Runs a bench with every size on every store. */
async function runAll<Finding extends object>(
  run: (options: EnvironmentOptions) => Promise<Finding[]>,
): Promise<Placed<Finding>[]> {
  const isServed = chosen.some((store) => store !== 'PGlite')
  await using server = isServed ? await openServer('postgres', cores?.ours) : null
  await using platformServer = isServed && cores ? await openServer('postgres', cores.theirs) : null
  await using redis = chosen.includes('PostgreSQL+Redis') ? await openServer('redis', cores?.ours) : null
  const all: Placed<Finding>[] = []
  for (const store of chosen) {
    for (const people of sizes) {
      process.stderr.write(`${people} people on ${store} …\n`)
      const result = await run({
        server: store === 'PGlite' ? null : (server?.url ?? null),
        platformServer: store === 'PGlite' ? null : ((platformServer ?? server)?.url ?? null),
        cores,
        redis: store === 'PostgreSQL+Redis' ? (redis?.url ?? null) : null,
        people,
      })
      all.push(...result.map((one) => ({ people, store, ...one })))
    }
  }
  return all
}

/** A separate server on those processors, or any server that may use all of them. */
async function openServer(kind: ServerKind, processors?: string): Promise<Server> {
  if (processors === undefined) return await startServer(kind)
  await using opening = new AsyncDisposableStack()
  const server = opening.use(await startOwnServer(kind))
  await server.keepOn(processors)
  opening.move()
  return server
}

function print(result: readonly Row[] | Readonly<Record<string, readonly Row[]>>): void {
  const tables = Array.isArray(result) ? [result] : Object.values(result)
  const text = tables.flatMap((rows) => (rows.length === 0 ? [] : [table(rows)])).join('\n')
  process.stdout.write(values.json ? `${JSON.stringify(result, null, 2)}\n` : text)
}

/** Plans against references, and against plans of other sizes and stores. */
async function benchPlan(): Promise<Record<string, Row[]>> {
  const planned = await runAll(measurePlans)
  return { plans: planned.map(planRow), comparisons: planComparisons(planned) }
}

/**
 * A delivery of everybody. Before and after it, a bare loop posts the same batches to other connections of the same platform, because
 * the speed of a machine drifts more within a minute than the difference to be measured. The platform and its database have half of
 * the processors, the measured process and its database the other half, unless all are shared.
 */
async function benchDeliver(options: EnvironmentOptions): Promise<Row[]> {
  await using environment = await openEnvironment(options)
  await measure('plan', environment)
  // A platform that has just started is slower, which must not distort the ratio.
  await measure('bare', environment)
  const before = await measure('bare', environment)
  const delivery = await measure('deliver', environment)
  const after = await measure('bare', environment)
  const bare = { ...before, seconds: (before.seconds + after.seconds) / 2 }
  if (bare.count !== delivery.count)
    throw new Error(`the loop sent ${bare.count} people, the delivery ${delivery.count}`)
  return [
    {
      platform: cores === null ? 'together' : 'apart',
      ...figures(delivery, 'people/s'),
      ...delays(delivery),
      'bare people/s': rate(bare),
      'bare MiB': Math.round(bare.peakMiB),
      'time / bare': ratio(delivery.seconds, bare.seconds),
      'speed / bare': ratio(bare.seconds, delivery.seconds),
    },
  ]
}

/** Deliveries of everybody with and without people who use the console of the same process meanwhile. */
async function benchConsole(options: EnvironmentOptions): Promise<Row[]> {
  if (!isCount(visitsPerSecond)) throw new Error(usage)
  await using environment = await openEnvironment(options)
  const { alone, beside, visits } = await deliverBesideVisits(environment, visitsPerSecond)
  const aloneSeconds = alone.reduce((sum, { seconds }) => sum + seconds, 0) / alone.length
  return [
    {
      platform: cores === null ? 'together' : 'apart',
      ...figures(beside, 'people/s'),
      'alone people/s': rate({ ...beside, seconds: aloneSeconds }),
      'time / alone': ratio(beside.seconds, aloneSeconds),
      'pages/s': Math.round(visits.perSecond),
      'not shown': visits.asked - visits.shown,
      'p50 ms': round(visits.p50Ms),
      'p99 ms': round(visits.p99Ms),
    },
  ]
}

/** What a daemon with many connections answers to people who look at it. */
async function benchConnections(): Promise<Row[]> {
  await using server = await startServer('postgres')
  const result = await measureConnections(server.url, simulated.connections)
  return [
    { what: 'status, ms', ours: round(result.statusMs), asked: 300 },
    { what: 'status, kB', ours: round(result.statusKb), asked: '' },
    { what: 'overview, ms', ours: round(result.overviewMs), asked: 500 },
    { what: 'overview, kB', ours: round(result.overviewKb), asked: 200 },
    { what: 'a page at 200 a second, ms', ours: round(result.visitMs), asked: 500 },
  ]
}

/** Signed events at a fixed rate, and as fast as they are accepted, against a bare route that inserts one row for each request. */
async function benchWebhook(): Promise<Row[]> {
  await using server = await startServer('postgres')
  const received = await receiveWebhooks({ server: server.url, ...load })
  const bare = received.find(({ receiver }) => receiver === 'bare')
  if (bare === undefined) throw new Error('the bare route was not measured')
  return received.map(({ receiver, open, closed, cpuSeconds, peakMiB }) => ({
    receiver,
    'events/s': Math.round(open.perSecond),
    refused: open.sent - open.accepted,
    'p50 ms': round(open.p50Ms),
    'p99 ms': round(open.p99Ms),
    'max ms': round(open.maxMs),
    'p99 / bare': ratio(open.p99Ms, bare.open.p99Ms),
    'most events/s': Math.round(closed.perSecond),
    'most / bare': ratio(closed.perSecond, bare.closed.perSecond),
    'CPU s': round(cpuSeconds),
    'peak MiB': Math.round(peakMiB),
  }))
}

/** Lists over HTTP against a bare loop that requests, parses and counts the same pages. */
async function benchList(): Promise<Row[]> {
  const rows: Row[] = []
  for (const people of sizes) {
    for (const { label, ours, bare } of await measureLists(people)) {
      const bareSeconds = (bare[0].seconds + bare[1].seconds) / 2
      const bareMib = Math.max(bare[0].peakMiB, bare[1].peakMiB)
      rows.push({
        people,
        list: label,
        ...figures(ours, 'people/s'),
        'bare s': round(bareSeconds),
        'bare MiB': Math.round(bareMib),
        'CPU s': round(ours.cpuSeconds),
        'CPU / bare': ratio(ours.cpuSeconds, (bare[0].cpuSeconds + bare[1].cpuSeconds) / 2),
        'time / bare': ratio(ours.seconds, bareSeconds),
        'MiB / bare': ratio(ours.peakMiB, bareMib),
      })
    }
  }
  return rows
}

/** Nights from the export to the last answer, against the limit of the platform and a script that does the same. */
async function benchNights(): Promise<Row[]> {
  await using server = await startServer('postgres')
  const rows: Row[] = []
  for (const people of sizes) {
    process.stderr.write(`${people} people …\n`)
    rows.push(...(await measureNights(server.url, people)).map(nightRow))
  }
  return rows
}

/** Workbooks against the CSV of the same rows. */
async function benchWorkbooks(): Promise<Row[]> {
  const rows: Row[] = []
  for (const people of sizes) {
    for (const { strings, workbook, csv } of await measureWorkbooks(people)) {
      rows.push({
        people,
        strings,
        ...figures(workbook, 'people/s'),
        'CSV s': round(csv.seconds),
        'CSV MiB': Math.round(csv.peakMiB),
        'CPU / CSV': ratio(workbook.cpuSeconds, csv.cpuSeconds),
        'time / CSV': ratio(workbook.seconds, csv.seconds),
        'MiB / CSV': ratio(workbook.peakMiB, csv.peakMiB),
      })
    }
  }
  return rows
}

/** The platform's lists, batches and identity sync against bare SQL and bare routes. */
async function benchPlatform(): Promise<Row[]> {
  await using server = await startServer('postgres')
  const compared = await measurePlatform(server.url, amounts)
  return compared.map(({ label, ours, reference, unit, ratio: actualRatio, limit }) => ({
    what: label,
    ours: round(ours),
    reference: round(reference),
    unit,
    ratio: round(actualRatio),
    asked: limit,
  }))
}

/** Commands against a bare Node that starts and ends, or one that loads the same libraries. */
async function benchStart(): Promise<Row[]> {
  await using server = await startServer('postgres')
  const starts = await measureStarts(server.url, Number(values.rounds))
  return starts.map(({ label, wallMs, cpuMs, reference, limit }) => ({
    what: label,
    ms: round(wallMs),
    'CPU ms': round(cpuMs),
    reference: reference.label,
    'its ms': round(reference.wallMs),
    'its CPU ms': round(reference.cpuMs),
    'time / its': ratio(wallMs, reference.wallMs),
    'CPU / its': ratio(cpuMs, reference.cpuMs),
    asked: limit ?? '',
  }))
}

/** An idle daemon against a bare Node that has loaded the same libraries. */
async function benchIdle(): Promise<Row[]> {
  await using server = await startServer('postgres')
  const { ours, reference, libraries } = await measureIdle(server.url, load.seconds)
  const memory = { MiB: Math.round(ours), libraries, 'their MiB': Math.round(reference) }
  return [{ what: 'serve', ...memory, 'MiB / theirs': ratio(ours, reference), asked: 1.2 }]
}

/** The disk space of an installation, with its largest packages. */
async function benchInstall(): Promise<Row[]> {
  return (await measureInstalls()).map(({ label, mb, files, limit, largest }) => ({
    what: label,
    MB: Math.round(mb),
    asked: limit ?? '',
    files: files ?? '',
    'largest, MB': largest,
  }))
}

/** A night of many connections against a simulated platform with its limit. */
async function benchSimulate(): Promise<Row[]> {
  await using server = await startServer('postgres')
  await using redis = chosen.includes('PostgreSQL+Redis') ? await startServer('redis') : null
  const rows: Row[] = []
  for (const store of chosen.filter((name) => name !== 'PGlite')) {
    const result = await simulate({
      server: server.url,
      redis: store === 'PostgreSQL' ? null : (redis?.url ?? null),
      ...simulated,
    })
    rows.push({
      store,
      ...simulated,
      people: result.people,
      'night s': round(result.nightSeconds),
      'next night s': round(result.nextNightSeconds),
      'large again s': round(result.largeSeconds),
      'small alone s': round(result.aloneSeconds),
      'longest alone s': round(result.longestAloneSeconds),
      'behind large s': round(result.behindSeconds),
      'middle behind s': round(result.middleBehindSeconds),
      timed: result.timedBehind,
      'behind / alone': ratio(result.behindSeconds, result.aloneSeconds),
      asked: 2,
      'behind / longest alone': ratio(result.behindSeconds, result.longestAloneSeconds),
      requests: result.requests,
      refused: result.refused,
      'CPU s': round(result.cpuSeconds),
      'peak MiB': Math.round(result.peakMib),
    })
  }
  return rows
}
