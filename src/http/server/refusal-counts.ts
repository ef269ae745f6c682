/** Requests of one sender that were refused for one reason, as the log reports them. */
export type RefusalCount = {
  readonly subject: string
  readonly reason: string
  readonly sender: string
  readonly times: number
}

/** Counts refusals by kind and minute. */
export type RefusalCounts = Disposable & {
  /** Counts one refusal. The first one of its kind is reported at once, the others together at the end of the minute. */
  count(refused: Omit<RefusalCount, 'times'>): void
}

const minuteMs = 60_000
/** Maximum number of kinds per minute. All others are reported together as `otherSenders`. */
const maxKinds = 100
const otherSenders = '(others)'

/** Reports refused requests in a limited number of lines. Disposing reports the remaining ones. */
export function countRefusals(report: (refused: RefusalCount) => void): RefusalCounts {
  const kinds = new Map<string, Omit<RefusalCount, 'times'> & { unreported: number }>()
  let minute: NodeJS.Timeout | undefined

  function endOfMinute(): void {
    clearTimeout(minute)
    minute = undefined
    for (const { unreported, ...refused } of kinds.values())
      if (unreported > 0) report({ ...refused, times: unreported })
    kinds.clear()
  }

  return {
    count(refused) {
      const own = JSON.stringify([refused.subject, refused.reason, refused.sender])
      const isKnown = kinds.has(own) || kinds.size < maxKinds
      const key = isKnown ? own : otherSenders
      const kind = kinds.get(key)
      if (kind !== undefined) {
        kind.unreported += 1
        return
      }
      const reported = isKnown ? refused : { ...refused, sender: otherSenders }
      kinds.set(key, { ...reported, unreported: 0 })
      minute ??= setTimeout(endOfMinute, minuteMs).unref()
      report({ ...reported, times: 1 })
    },
    [Symbol.dispose]: endOfMinute,
  }
}
