import { whenUsed } from '../http/client/when-used.ts'
import type { Platform } from '../sync/context/context.ts'
import type { Pace } from '../sync/pace/pace.ts'
import type { Config } from './config/config.ts'

type Opened = Platform & AsyncDisposable

/** Opens the way to the platform when the first request is sent. A command that only looks sends none. */
export function platformWhenUsed(
  { platform: { baseUrl, inFlight } }: Pick<Config, 'platform'>,
  open: () => Promise<Opened>,
): Opened {
  let opening: Promise<Opened> | null = null
  const opened = () => {
    opening ??= open()
    return opening
  }
  const paceOf = (of: (platform: Platform) => Pace): Pace => ({
    send: async (request, signal) => await of(await opened()).send(request, signal),
    pause: async (delayMs) => await of(await opened()).pause(delayMs),
    standing: async () => await of(await opened()).standing(),
    get patient() {
      return paceOf((platform) => of(platform).patient)
    },
  })
  return {
    client: whenUsed(async () => (await opened()).client),
    baseUrl,
    pace: paceOf(({ pace }) => pace),
    inFlight,
    async [Symbol.asyncDispose]() {
      // If it could not be opened, the request that needed it has failed with the reason.
      const platform = await opening?.catch(() => null)
      await platform?.[Symbol.asyncDispose]()
    },
  }
}
