import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'

const windowSeconds = 15 * 60
const attemptsByName = 5
const attemptsByAddress = 50
/** For one name from all addresses: high enough that typing errors, and most attackers, cannot lock out the owner. */
const attemptsByAccount = 100

/** Limits sign-in attempts: for a name from one address, for all names from one address, and for a name from all addresses. */
type SignInLimit = {
  /** Counts an attempt before the check of the password; returns the seconds to wait if the limit is reached, else null. */
  take(attempt: Attempt): Promise<number | null>
  /** Removes a successful attempt from the count. */
  giveBack(attempt: Attempt): Promise<void>
}

type Attempt = { readonly name: string; readonly address: string }

/** Creates a limit that counts in this process: a restart begins at zero. */
export function createSignInLimit(): SignInLimit {
  const byName = new RateLimiterMemory({ points: attemptsByName, duration: windowSeconds })
  const byAddress = new RateLimiterMemory({ points: attemptsByAddress, duration: windowSeconds })
  const byAccount = new RateLimiterMemory({ points: attemptsByAccount, duration: windowSeconds })
  const keyOf = ({ name, address }: Attempt) => JSON.stringify([address, name])
  return {
    async take(attempt) {
      try {
        await byAddress.consume(attempt.address)
        await byName.consume(keyOf(attempt))
        await byAccount.consume(attempt.name)
        return null
      } catch (refused) {
        if (refused instanceof RateLimiterRes) return Math.ceil(refused.msBeforeNext / 1000)
        throw refused
      }
    },
    async giveBack(attempt) {
      await byName.delete(keyOf(attempt))
      await byAddress.reward(attempt.address)
      await byAccount.reward(attempt.name)
    },
  }
}
