/** Requests that were refused for one reason, of one sender, as the log tells of them. */
export type Refused = {
  readonly what: string
  readonly reason: string
  readonly sender: string
  readonly times: number
}

/** Counts refusals by kind and minute. */
export type RefusalCounts = Disposable & {
  /** Counts one. The first one of its kind is told at once, the others together at the end of their minute. */
  count(refused: Omit<Refused, 'times'>): void
}

const minuteMs = 60_000
/** What is told apart in one minute. A flood from more senders is told as one of `otherSenders`. */
const mostKinds = 100
const otherSenders = '(others)'

/** Tells of refused requests in a bounded number of lines, however many are sent and from wherever. Disposing tells what is left. */
export function countRefusals(tell: (refused: Refused) => void): RefusalCounts {
  const kinds = new Map<string, Omit<Refused, 'times'> & { untold: number }>()
  let minute: NodeJS.Timeout | undefined

  function endOfMinute(): void {
    clearTimeout(minute)
    minute = undefined
    for (const { untold, ...refused } of kinds.values()) if (untold > 0) tell({ ...refused, times: untold })
    kinds.clear()
  }

  return {
    count(refused) {
      const own = JSON.stringify([refused.what, refused.reason, refused.sender])
      const isKnown = kinds.has(own) || kinds.size < mostKinds
      const key = isKnown ? own : otherSenders
      const kind = kinds.get(key)
      if (kind !== undefined) {
        kind.untold += 1
        return
      }
      const told = isKnown ? refused : { ...refused, sender: otherSenders }
      kinds.set(key, { ...told, untold: 0 })
      minute ??= setTimeout(endOfMinute, minuteMs).unref()
      tell({ ...told, times: 1 })
    },
    [Symbol.dispose]: endOfMinute,
  }
}
