import { delays, figures, type Row, ratio, round } from './figures.ts'
import { openPlace, type PlaceOptions } from './place.ts'
import { measure, measureDuckdb, measurePython, type Reference, type Watched } from './tasks.ts'

const planKinds = ['first', 'unchanged', 'next day', 'mapping changed'] as const
type PlanKind = (typeof planKinds)[number]

/** A plan of one kind, with what the references take for the same two exports. */
export type Plan = {
  readonly plan: PlanKind
  readonly ours: Watched
  readonly python: Reference
  readonly duckdb: Reference
}

/** A plan with the size and the store that it was made of. */
export type PlacedPlan = Plan & { readonly people: number; readonly store: string }

/** At most how many times as much as its references a plan may take. */
const askedOfPlan: Readonly<Record<PlanKind, { time: number; memory: number; duckdb: number | null }>> = {
  first: { time: 2.5, memory: 0.5, duckdb: null },
  'mapping changed': { time: 2.5, memory: 0.5, duckdb: null },
  unchanged: { time: 0.15, memory: 0.25, duckdb: 1.5 },
  'next day': { time: 0.25, memory: 0.2, duckdb: 2 },
}
/** A plan of few people is the start of a process most of all, and the embedded database is for few. */
const askedOf = { people: 1_000_000, store: 'PostgreSQL' }
const askedOfGrowth = { from: 100_000, time: 11, bytesOfFurtherRow: 200 }
const askedOfEmbedded = { time: 2, peakMiB: 450 }
const mib = 2 ** 20

/**
 * A first plan of an export, a second one of the same export, one of the next day, and one of that again by another mapping, each after
 * everybody has been delivered. The references follow each of them at once, since the speed of a machine drifts. They always compare two
 * exports of full size.
 */
export async function measurePlans(options: PlaceOptions): Promise<Plan[]> {
  await leaveCompiledCode(options)
  await using place = await openPlace(options)
  const first = { ours: await measure('plan', place), ...(await measureReferences(place.formerCsv, place.csv)) }
  await measure('deliver', place)
  await place.rest()
  const second = { ours: await measure('plan', place), ...(await measureReferences(place.formerCsv, place.csv)) }
  await place.writeNextDay()
  const third = { ours: await measure('plan', place), ...(await measureReferences(place.formerCsv, place.csv)) }
  await measure('deliver', place)
  await place.rest()
  await place.changeMapping()
  const fourth = { ours: await measure('plan', place), ...(await measureReferences(place.formerCsv, place.csv)) }
  return [
    { plan: 'first', ...first },
    { plan: 'unchanged', ...second },
    { plan: 'next day', ...third },
    { plan: 'mapping changed', ...fourth },
  ]
}

/** The command has been used before, and so have the references. */
async function leaveCompiledCode(options: PlaceOptions): Promise<void> {
  await using place = await openPlace({ ...options, people: 10 })
  await measure('plan', place)
  await measureReferences(place.formerCsv, place.csv)
}

async function measureReferences(former: string, current: string): Promise<Pick<Plan, 'python' | 'duckdb'>> {
  const python = await measurePython(former, current)
  const duckdb = await measureDuckdb(former, current)
  const [itsCounts, otherCounts] = [python, duckdb].map(({ count, found }) => JSON.stringify({ count, ...found }))
  if (itsCounts !== otherCounts) throw new Error(`Python found ${itsCounts}, DuckDB ${otherCounts}`)
  return { python, duckdb }
}

export function planRow({ people, store, plan, ours, python, duckdb }: PlacedPlan): Row {
  const asked = people === askedOf.people && store === askedOf.store ? askedOfPlan[plan] : null
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
    'time asked': asked?.time ?? '',
    'CPU / Python': ratio(ours.cpuSeconds, python.cpuSeconds),
    'memory / Python': ratio(ours.peakMiB, python.peakMiB),
    'memory asked': asked?.memory ?? '',
    'DuckDB s': round(duckdb.seconds),
    'DuckDB CPU s': round(duckdb.cpuSeconds),
    'DuckDB MiB': Math.round(duckdb.peakMiB),
    'time / DuckDB': ratio(ours.seconds, duckdb.seconds),
    'DuckDB asked': asked?.duckdb ?? '',
  }
}

/** How the plans grow from one size to the next larger one, and what the embedded database costs. */
export function planComparisons(plans: readonly PlacedPlan[]): Row[] {
  const ofStores = Map.groupBy(plans, ({ store }) => store)
  const growth = [...ofStores.values()].flatMap((ofStore) => planKinds.flatMap((kind) => growthRows(ofStore, kind)))
  const sizes = new Set(plans.map(({ people }) => people))
  return [...growth, ...[...sizes].flatMap((size) => embeddedRows(plans.filter(({ people }) => people === size)))]
}

/** Of the two largest sizes of a store. */
function growthRows(ofStore: readonly PlacedPlan[], kind: PlanKind): Row[] {
  const [more, fewer] = ofStore.filter((one) => one.plan === kind).sort((a, b) => b.people - a.people)
  if (!more || !fewer || more.people === fewer.people) return []
  const { people, store, plan } = more
  const isAsked = people === askedOf.people && store === askedOf.store && fewer.people === askedOfGrowth.from
  const bytes = (more.ours.peakMiB - fewer.ours.peakMiB) * mib
  return [
    {
      store,
      plan,
      what: `time of ${people} / ${fewer.people}`,
      found: ratio(more.ours.seconds, fewer.ours.seconds),
      asked: isAsked ? askedOfGrowth.time : '',
    },
    {
      store,
      plan,
      what: `bytes of peak memory a further row, ${people} and ${fewer.people}`,
      found: round(bytes / (people - fewer.people)),
      asked: isAsked ? askedOfGrowth.bytesOfFurtherRow : '',
    },
  ]
}

function warmSeconds({ seconds, startSeconds }: Watched): number {
  return seconds - startSeconds
}

/** The database is open before a plan is made: opening an embedded one takes longer than the plan of few people. */
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
      asked: askedOfEmbedded.time,
    },
    { store, plan, what: `peak MiB of ${people}`, found: Math.round(ours.peakMiB), asked: askedOfEmbedded.peakMiB },
  ]
}
