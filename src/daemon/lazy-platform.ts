import { lazyFunctions } from '../http/client/lazy-functions.ts'
import type { Platform } from '../sync/context/context.ts'
import type { RateLimiter } from '../sync/rate-limit/rate-limiter.ts'
import type { Config } from './config/config.ts'

type OpenedPlatform = Platform & AsyncDisposable

/** A platform client that opens with its first request: read-only commands mostly send none. */
export function lazyPlatform(
  { platform: { baseUrl, inFlight } }: Pick<Config, 'platform'>,
  open: () => Promise<OpenedPlatform>,
): OpenedPlatform {
  let opening: Promise<OpenedPlatform> | null = null
  const opened = () => {
    opening ??= open()
    return opening
  }
  const lazyRateLimiter = (of: (platform: Platform) => RateLimiter): RateLimiter => ({
    send: async (request, signal) => await of(await opened()).send(request, signal),
    pause: async (delayMs) => await of(await opened()).pause(delayMs),
    readBudget: async () => await of(await opened()).readBudget(),
    get lowPriority() {
      return lazyRateLimiter((platform) => of(platform).lowPriority)
    },
  })
  return {
    client: lazyFunctions(async () => (await opened()).client),
    baseUrl,
    rateLimiter: lazyRateLimiter((platform) => platform.rateLimiter),
    inFlight,
    async [Symbol.asyncDispose]() {
      // If it could not be opened, the request that needed it has already failed with the reason.
      const platform = await opening?.catch(() => null)
      await platform?.[Symbol.asyncDispose]()
    },
  }
}
