/** The moments of one departure, as ISO instants; null: not yet, or not known. */
export type ClockTimes = {
  /** The end of the last day of employment in the time zone of the source. */
  readonly effectiveAt: string
  /** When HR said so: the time of the export or event. */
  readonly statedAt: string
  readonly firstSeenAt: string
  readonly acknowledgedAt: string | null
  readonly visibleAt: string | null
  /** The person had left already when HR first named them. */
  readonly joinedLeft: boolean
}

/** Who took how long, in seconds; null: that part has not ended yet, or is not to be blamed on anybody. */
type Delays = {
  /** HR: from the end of the last day to the export or event that says so. */
  readonly hrSeconds: number | null
  /** Rollcall: from when the departure was both over and known here to the platform's acknowledgement. Holds and refusals are within it. */
  readonly ourSeconds: number | null
  /** The platform: from the acknowledgement, or the end of the last day if that is later, to its personnel. */
  readonly platformSeconds: number | null
}

/** The parts of the delay of a departure. */
export const legs = ['hrSeconds', 'ourSeconds', 'platformSeconds'] as const satisfies readonly (keyof Delays)[]

type Clock = Delays & {
  /** Until when the platform is to have acknowledged the departure. */
  readonly dueAt: string
  /** It did so later than that, or has not done so by now. */
  readonly late: boolean
}

const hourMs = 60 * 60_000

/** Judges the times of one departure by a bound. What happens before the last day is over takes no time. */
export function clockOf(times: ClockTimes, { boundHours, now }: { boundHours: number; now: Date }): Clock {
  const { effectiveAt, statedAt, firstSeenAt, acknowledgedAt, visibleAt, joinedLeft } = times
  const owedAt = later(effectiveAt, firstSeenAt)
  const dueMs = Date.parse(owedAt) + boundHours * hourMs
  return {
    hrSeconds: joinedLeft ? null : secondsBetween(effectiveAt, statedAt),
    ourSeconds: acknowledgedAt === null ? null : secondsBetween(owedAt, acknowledgedAt),
    platformSeconds:
      acknowledgedAt === null || visibleAt === null
        ? null
        : secondsBetween(later(effectiveAt, acknowledgedAt), visibleAt),
    dueAt: new Date(dueMs).toISOString(),
    late: (acknowledgedAt === null ? now.getTime() : Date.parse(acknowledgedAt)) > dueMs,
  }
}

/** Of some durations: how many they are, half of them, nineteen of twenty, and all take no longer than these seconds. */
type Figures = { readonly people: number; readonly p50: number; readonly p95: number; readonly max: number }

/** Null where there is none. Each figure is one of the durations (the nearest rank), so that it can be found in the list. */
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
