/**
 * No answer that several people share is older than this when it is given. A page that is shared is made of shared answers, so what it
 * shows is twice as old at most; `live.js` waits for as long after an event before it asks.
 */
const forMs = 500
const mostAddresses = 200

/** What is the same for many who look at once. */
export type SharedAnswers<T> = {
  /** What `make` answers, or has answered half a second ago under the same key. It works for one key only once at a time. */
  get(key: string, make: () => Promise<T>): Promise<T>
  /** Nothing that is begun from now on is answered from before. */
  clear(): void
}

type Answer<T> = { readonly begunMs: number; readonly shown: Promise<T>; isMade: boolean }

export function createSharedAnswers<T>(nowMs: () => number = () => performance.now()): SharedAnswers<T> {
  const answers = new Map<string, Answer<T>>()

  async function recall(key: string, make: () => Promise<T>): Promise<T> {
    for (let known = answers.get(key); known; known = answers.get(key)) {
      if (nowMs() - known.begunMs < forMs) return await known.shown
      if (known.isMade) break
      // One that takes longer than it may be old would be begun again and again: the next one waits for it.
      await known.shown.catch(() => {})
    }
    const answer: Answer<T> = { begunMs: nowMs(), shown: make(), isMade: false }
    answers.delete(key)
    const [oldest] = answers.keys()
    if (oldest !== undefined && answers.size >= mostAddresses) answers.delete(oldest)
    answers.set(key, answer)
    const drop = () => {
      if (answers.get(key) === answer) answers.delete(key)
    }
    answer.shown.then(() => {
      answer.isMade = true
      setTimeout(drop, forMs).unref()
    }, drop)
    return await answer.shown
  }

  return { get: recall, clear: () => answers.clear() }
}
