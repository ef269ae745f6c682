/** The times of one departure, as ISO instants; null: not yet, or not known. */
export type DepartureTimes = {
  /** The end of the last day of employment in the time zone of the source. */
  readonly effectiveAt: string
  /** When HR or an operator stated the departure: the time of the export, event or statement. */
  readonly statedAt: string
  /** The operator who stated the departure before HR; null or left out if HR stated it. */
  readonly statedBy?: string | null
  readonly firstSeenAt: string
  readonly acknowledgedAt: string | null
  readonly visibleAt: string | null
  /** The person had left already when HR first named them. */
  readonly joinedLeft: boolean
}

/** The delays in seconds; null: that part has not ended yet, or nobody caused it. */
type Delays = {
  /** HR: from the end of the last day to the export or event that states it; null if an operator stated it. */
  readonly hrSeconds: number | null
  /** Rollcall: from the time when the last day was over and the departure known here to the acknowledgement. Includes holds and refusals. */
  readonly ourSeconds: number | null
  /** The platform: from the acknowledgement, or the later end of the last day, until its personnel shows the departure. */
  readonly platformSeconds: number | null
}

/** The parts of the delay of a departure. */
export const legs = ['hrSeconds', 'ourSeconds', 'platformSeconds'] as const satisfies readonly (keyof Delays)[]

type DepartureDelays = Delays & {
  /** The time by which the platform should have acknowledged the departure. */
  readonly dueAt: string
  /** The acknowledgement came later, or has not come by now. */
  readonly late: boolean
}

const hourMs = 60 * 60_000

/** Measures the delays of one departure against a bound. Time before the end of the last day does not count. */
export function measureDelays(
  times: DepartureTimes,
  { boundHours, now }: { boundHours: number; now: Date },
): DepartureDelays {
  const { effectiveAt, statedAt, statedBy = null, firstSeenAt, acknowledgedAt, visibleAt, joinedLeft } = times
  const owedAt = later(effectiveAt, firstSeenAt)
  const dueMs = Date.parse(owedAt) + boundHours * hourMs
  return {
    hrSeconds: joinedLeft || statedBy !== null ? null : secondsBetween(effectiveAt, statedAt),
    ourSeconds: acknowledgedAt === null ? null : secondsBetween(owedAt, acknowledgedAt),
    platformSeconds:
      acknowledgedAt === null || visibleAt === null
        ? null
        : secondsBetween(later(effectiveAt, acknowledgedAt), visibleAt),
    dueAt: new Date(dueMs).toISOString(),
    late: (acknowledgedAt === null ? now.getTime() : Date.parse(acknowledgedAt)) > dueMs,
  }
}

/** The number of durations, and their median, 95th percentile and maximum in seconds. */
type Figures = { readonly people: number; readonly p50: number; readonly p95: number; readonly max: number }

/** Null without durations. Each figure is one of the durations (nearest rank), so that it can be found in the list. */
export function figuresOf(durations: readonly (number | null)[]): Figures | null {
  const sorted = durations.filter((each): each is number => each !== null).sort((a, b) => a - b)
  const rank = (share: number): number => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0
  return sorted.length === 0 ? null : { people: sorted.length, p50: rank(0.5), p95: rank(0.95), max: rank(1) }
}

function later(a: string, b: string): string {
  return Date.parse(a) > Date.parse(b) ? a : b
}

function secondsBetween(from: string, to: string): number {
  return Math.max(0, Math.round((Date.parse(to) - Date.parse(from)) / 1000))
}
