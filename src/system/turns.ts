/** Performs work after all that was requested before, also if that failed. */
export type InTurn = <T>(work: () => Promise<T>) => Promise<T>

/** Opens turns for work that must not happen at the same time in this process. */
export function openTurns(): InTurn {
  let last: Promise<unknown> = Promise.resolve()
  return async (work) => {
    const turn = last.then(work)
    last = turn.catch(() => {})
    return await turn
  }
}
