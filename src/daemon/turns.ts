import { Postponed } from '../queue/jobs.ts'

/** So many rows make a run a long one: smaller ones are over within a second or two. */
const longRows = 5000
/** One reads while the other one's rows are stored. More of them would not be over sooner, and short ones would wait for them all. */
const longAtOnce = 2
const lookAgainMs = 250

/** Does the work, once it is its turn. Throws `Postponed` before that. */
export type Turns = (rows: number | null, work: () => Promise<void>) => Promise<void>

/** The turns of one process: of its long runs two go on at a time, so that short ones find room beside them, whatever the order of the queue. */
export function takeTurns(): Turns {
  let underWay = 0
  return async (rows, work) => {
    if (rows === null || rows < longRows) return await work()
    if (underWay >= longAtOnce) throw new Postponed(lookAgainMs, 'other long runs are under way')
    underWay++
    try {
      await work()
    } finally {
      underWay--
    }
  }
}
