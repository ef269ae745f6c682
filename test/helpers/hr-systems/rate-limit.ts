import { Refusal } from './protocol.ts'

/** How many requests a system answers in a period. */
export type RateLimit = { readonly requests: number; readonly periodSeconds: number }

/** Counts the requests of each period and refuses those beyond the limit. */
export class RequestCounter {
  readonly #limit: RateLimit
  readonly #now: () => number
  #startedAt = 0
  #count = 0

  constructor(limit: RateLimit, now: () => number) {
    this.#limit = limit
    this.#now = now
  }

  /** The headers that every answer carries. Throws if the limit is exceeded. */
  count(): Readonly<Record<string, string>> {
    const { requests, periodSeconds } = this.#limit
    if (this.#now() >= this.#startedAt + periodSeconds * 1000) {
      this.#startedAt = this.#now()
      this.#count = 0
    }
    this.#count += 1
    const headers = {
      'x-ratelimit-limit': String(requests),
      'x-ratelimit-remaining': String(Math.max(0, requests - this.#count)),
      'x-ratelimit-reset': String(Math.ceil(this.#startedAt / 1000) + periodSeconds),
    }
    if (this.#count > requests) throw new Refusal(429, { error: 'too many requests' }, headers)
    return headers
  }
}
