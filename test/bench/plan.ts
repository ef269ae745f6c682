import { delays, figures, type Row, ratio, round } from './figures.ts'
import { type EnvironmentOptions, openEnvironment } from './place.ts'
import { measure, measureDuckdb, measurePython, type Reference, type Watched } from './tasks.ts'

const planKinds = ['first', 'unchanged', 'next day', 'mapping changed'] as const
type PlanKind = (typeof planKinds)[number]

/** A plan of one kind, with the figures of the references for the same two exports. */
export type Plan = {
  readonly plan: PlanKind
  readonly ours: Watched
  readonly python: Reference
  readonly duckdb: Reference
}

/** A plan with its size and its store. */
export type PlacedPlan = Plan & { readonly people: number; readonly store: string }

/** The maximum ratios of a plan to its references. */
const planLimits: Readonly<Record<PlanKind, { time: number; memory: number; duckdb: number | null }>> = {
  first: { time: 2.5, memory: 0.5, duckdb: null },
  'mapping changed': { time: 2.5, memory: 0.5, duckdb: null },
  unchanged: { time: 0.15, memory: 0.25, duckdb: 1.5 },
  'next day': { time: 0.25, memory: 0.2, duckdb: 2 },
}
/** The time of a plan of few people is mostly the start of a process, and the embedded database is for few people. */
const limitedSize = { people: 1_000_000, store: 'PostgreSQL' }
const growthLimits = { from: 100_000, time: 11, bytesOfFurtherRow: 200 }
const embeddedLimits = { time: 2, peakMiB: 450 }
const mib = 2 ** 20

/**
 * Plans an export, the same export again, the one of the next day, and that one by another mapping, each after everybody has been
 * delivered. The references run directly after each plan, because the speed of a machine drifts. They always compare two full exports.
 */
export async function measurePlans(options: EnvironmentOptions): Promise<Plan[]> {
  await leaveCompiledCode(options)
  await using environment = await openEnvironment(options)
  const first = {
    ours: await measure('plan', environment),
    ...(await measureReferences(environment.formerCsv, environment.csv)),
  }
  await measure('deliver', environment)
  await environment.rest()
  const second = {
    ours: await measure('plan', environment),
    ...(await measureReferences(environment.formerCsv, environment.csv)),
  }
  await environment.writeNextDay()
  const third = {
    ours: await measure('plan', environment),
    ...(await measureReferences(environment.formerCsv, environment.csv)),
  }
  await measure('deliver', environment)
  await environment.rest()
  await environment.changeMapping()
  const fourth = {
    ours: await measure('plan', environment),
    ...(await measureReferences(environment.formerCsv, environment.csv)),
  }
  return [
    { plan: 'first', ...first },
    { plan: 'unchanged', ...second },
    { plan: 'next day', ...third },
    { plan: 'mapping changed', ...fourth },
  ]
}

/** Runs the command and the references once, so that their compiled code is cached. */
async function leaveCompiledCode(options: EnvironmentOptions): Promise<void> {
  await using environment = await openEnvironment({ ...options, people: 10 })
  await measure('plan', environment)
  await measureReferences(environment.formerCsv, environment.csv)
}

async function measureReferences(former: string, current: string): Promise<Pick<Plan, 'python' | 'duckdb'>> {
  const python = await measurePython(former, current)
  const duckdb = await measureDuckdb(former, current)
  const [itsCounts, otherCounts] = [python, duckdb].map(({ count, found: counts }) =>
    JSON.stringify({ count, ...counts }),
  )
  if (itsCounts !== otherCounts) throw new Error(`Python found ${itsCounts}, DuckDB ${otherCounts}`)
  return { python, duckdb }
}

export function planRow({ people, store, plan, ours, python, duckdb }: PlacedPlan): Row {
  const limits = people === limitedSize.people && store === limitedSize.store ? planLimits[plan] : null
  return {
    people,
    store,
    plan,
    ...figures(ours, 'rows/s'),
    'start s': round(ours.startSeconds),
    'CPU s': round(ours.cpuSeconds),
    ...delays(ours),
    'Python s': round(python.seconds),
    'Python CPU s': round(python.cpuSeconds),
    'Python MiB': Math.round(python.peakMiB),
    'time / Python': ratio(ours.seconds, python.seconds),
    'time asked': limits?.time ?? '',
    'CPU / Python': ratio(ours.cpuSeconds, python.cpuSeconds),
    'memory / Python': ratio(ours.peakMiB, python.peakMiB),
    'memory asked': limits?.memory ?? '',
    'DuckDB s': round(duckdb.seconds),
    'DuckDB CPU s': round(duckdb.cpuSeconds),
    'DuckDB MiB': Math.round(duckdb.peakMiB),
    'time / DuckDB': ratio(ours.seconds, duckdb.seconds),
    'DuckDB asked': limits?.duckdb ?? '',
  }
}

/** How the plans grow from one size to the next larger one, and what the embedded database costs. */
export function planComparisons(plans: readonly PlacedPlan[]): Row[] {
  const ofStores = Map.groupBy(plans, ({ store }) => store)
  const growth = [...ofStores.values()].flatMap((ofStore) => planKinds.flatMap((kind) => growthRows(ofStore, kind)))
  const sizes = new Set(plans.map(({ people }) => people))
  return [...growth, ...[...sizes].flatMap((size) => embeddedRows(plans.filter(({ people }) => people === size)))]
}

/** The ratios of the two largest sizes of a store. */
function growthRows(ofStore: readonly PlacedPlan[], kind: PlanKind): Row[] {
  const [more, fewer] = ofStore.filter((one) => one.plan === kind).sort((a, b) => b.people - a.people)
  if (!more || !fewer || more.people === fewer.people) return []
  const { people, store, plan } = more
  const hasLimit = people === limitedSize.people && store === limitedSize.store && fewer.people === growthLimits.from
  const bytes = (more.ours.peakMiB - fewer.ours.peakMiB) * mib
  return [
    {
      store,
      plan,
      what: `time of ${people} / ${fewer.people}`,
      found: ratio(more.ours.seconds, fewer.ours.seconds),
      asked: hasLimit ? growthLimits.time : '',
    },
    {
      store,
      plan,
      what: `bytes of peak memory a further row, ${people} and ${fewer.people}`,
      found: round(bytes / (people - fewer.people)),
      asked: hasLimit ? growthLimits.bytesOfFurtherRow : '',
    },
  ]
}

function warmSeconds({ seconds, startSeconds }: Watched): number {
  return seconds - startSeconds
}

/** The database is opened before the plan, because opening an embedded one takes longer than a plan of few people. */
function embeddedRows(ofSize: readonly PlacedPlan[]): Row[] {
  const plan = 'next day'
  const [embedded, served] = ['PGlite', 'PostgreSQL'].map((name) =>
    ofSize.find((one) => one.plan === plan && one.store === name),
  )
  if (!embedded || !served) return []
  const { people, store, ours } = embedded
  return [
    {
      store,
      plan,
      what: `time of ${people} / PostgreSQL, without the start`,
      found: ratio(warmSeconds(ours), warmSeconds(served.ours)),
      asked: embeddedLimits.time,
    },
    { store, plan, what: `peak MiB of ${people}`, found: Math.round(ours.peakMiB), asked: embeddedLimits.peakMiB },
  ]
}
