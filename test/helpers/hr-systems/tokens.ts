import { randomUUID } from 'node:crypto'

/** The access tokens that a system has issued. */
export class TokenStore {
  readonly #expiries = new Map<string, number>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  issue(lifetimeSeconds: number): string {
    const token = randomUUID()
    this.#expiries.set(token, this.#now() + lifetimeSeconds * 1000)
    return token
  }

  isValid(token: string): boolean {
    return (this.#expiries.get(token) ?? 0) > this.#now()
  }

  /** Ends every token, as a system does that restarts. */
  revokeAll(): void {
    this.#expiries.clear()
  }

  /** How many tokens are stored that have not been revoked. */
  get size(): number {
    return this.#expiries.size
  }
}
