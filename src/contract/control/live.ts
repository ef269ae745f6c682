import { z } from 'zod'
import { operations } from '../operation.ts'
import { Alert } from './alerts.ts'
import { Run } from './run-shapes.ts'

/** How far a run has come. */
export const LiveRun = Run.pick({
  id: true,
  connection: true,
  feed: true,
  trigger: true,
  state: true,
  counts: true,
  confirmed: true,
  problems: true,
  remaining: true,
  createdAt: true,
  startedAt: true,
  finishedAt: true,
}).meta({ id: 'LiveRun' })
export type LiveRun = z.infer<typeof LiveRun>

/** An alert that was raised or cleared. */
export const LiveAlert = Alert.pick({ connection: true, kind: true, code: true, people: true, since: true })
  .extend({ open: z.boolean().describe('False: it is over.') })
  .meta({ id: 'LiveAlert' })
export type LiveAlert = z.infer<typeof LiveAlert>

/** An event of the live stream. */
export const LiveEvent = z
  .discriminatedUnion('event', [
    z.object({
      event: z.literal('snapshot').describe('The first event after each connect: how everything stands.'),
      data: z.object({ runs: z.array(LiveRun), alerts: z.array(LiveAlert) }),
    }),
    z.object({ event: z.literal('run').describe('A run has begun, moved on or ended.'), data: LiveRun }),
    z.object({ event: z.literal('alert').describe('Something is wrong, or is over.'), data: LiveAlert }),
  ])
  .meta({ id: 'LiveEvent' })
export type LiveEvent = z.infer<typeof LiveEvent>

/** The live event stream. It is not in the table of operations because its response does not end. */
export const live = operations({
  watchLive: {
    method: 'GET',
    path: '/events/live',
    summary: 'A live stream of run states, delivery progress and alerts.',
    description:
      'Server-sent events: the name of each stands in `event`, and `data` is one line of JSON. A `snapshot` comes first, also after a connect that follows a lost one, so that nothing has to be remembered; comments keep the connection open. A reader that is too slow is cut off, and connects again. Keys and counts alone, no personal values.',
    permission: 'viewer',
    query: z.object({ connection: z.string().optional().describe('Of this connection only.') }),
    streams: LiveEvent,
    success: { 200: z.string() },
    errors: [400, 401, 403, 404, 500, 503],
  },
})
