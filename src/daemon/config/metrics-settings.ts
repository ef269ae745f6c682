import { z } from 'zod'

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/

/** Who may read the metrics. */
export const MetricsAccess = z
  .enum(['token', 'open'])
  .default('token')
  .describe(
    'Who may read /metrics. token: callers with a token of any role. open: everybody who reaches the port, which must be on a loopback address.',
  )

/** Metrics are open to the account of this machine alone. */
export const openOnLoopback = {
  holds: ({ metrics, host }: { readonly metrics: 'token' | 'open'; readonly host: string }): boolean =>
    metrics === 'token' || loopback.test(host),
  otherwise: {
    path: ['metrics'],
    error: 'open goes with a host of this machine alone, such as 127.0.0.1: scrape with a token of the role viewer',
  },
}
