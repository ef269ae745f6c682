import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'

const windowSeconds = 15 * 60
const attemptsByName = 5
const attemptsByAddress = 50
/** Of one name from all addresses. So many that nobody who mistypes, and few who mean harm, keep its owner out. */
const attemptsByAccount = 100

/** How often may be guessed: for one name from one address, from one address at all names, and for one name from all addresses. */
type SignInLimit = {
  /** Takes one attempt, before anything is compared; gives the seconds to wait where there is none left. */
  take(attempt: Attempt): Promise<number | null>
  /** Gives back what a right password took. */
  giveBack(attempt: Attempt): Promise<void>
}

type Attempt = { readonly name: string; readonly address: string }

/** Counted in this process: a restart begins at zero. */
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
