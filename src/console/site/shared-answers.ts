/**
 * Maximum age of a shared answer. A shared page is made of shared answers, so it is twice as old at most;
 * `live.js` waits for as long after an event before it asks.
 */
const maxAgeMs = 500
const maxAnswers = 200

/** Answers that several visitors share for a short time. */
export type SharedAnswers<T> = {
  /** The result of `make`, or an earlier one for this key that is less than half a second old. Calls for one key never overlap. */
  get(key: string, make: () => Promise<T>): Promise<T>
  /** Drops all answers. */
  clear(): void
}

type Answer<T> = { readonly begunMs: number; readonly shown: Promise<T>; isMade: boolean }

/** Creates an empty set of shared answers. */
export function createSharedAnswers<T>(nowMs: () => number = () => performance.now()): SharedAnswers<T> {
  const answers = new Map<string, Answer<T>>()

  async function recall(key: string, make: () => Promise<T>): Promise<T> {
    for (let known = answers.get(key); known; known = answers.get(key)) {
      if (nowMs() - known.begunMs < maxAgeMs) return await known.shown
      if (known.isMade) break
      // An answer that takes longer than its maximum age would be started again and again, so wait for it.
      await known.shown.catch(() => {})
    }
    const answer: Answer<T> = { begunMs: nowMs(), shown: make(), isMade: false }
    answers.delete(key)
    const [oldest] = answers.keys()
    if (oldest !== undefined && answers.size >= maxAnswers) answers.delete(oldest)
    answers.set(key, answer)
    const drop = () => {
      if (answers.get(key) === answer) answers.delete(key)
    }
    answer.shown.then(() => {
      answer.isMade = true
      setTimeout(drop, maxAgeMs).unref()
    }, drop)
    return await answer.shown
  }

  return { get: recall, clear: () => answers.clear() }
}
