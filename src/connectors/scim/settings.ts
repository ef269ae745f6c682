import { z } from 'zod'
import { type EventSettings, WebhookSettings } from '../webhook/settings.ts'

const { quietSeconds, quietMostSeconds, inboxLimit, bodyLimitBytes } = WebhookSettings.shape

/** The settings of a source that is pushed over SCIM 2.0. */
export const ScimSource = z
  .strictObject({
    type: z.literal('scim').describe('Users whom a sender pushes over SCIM 2.0.'),
    quietSeconds: quietSeconds.describe('How long no change may arrive before the waiting ones become one run.'),
    quietMostSeconds: quietMostSeconds.describe('Maximum time that a change waits for others.'),
    inboxLimit: inboxLimit.describe('How many changes may wait.'),
    bodyLimitBytes: bodyLimitBytes.describe('The largest body.'),
    timeZone: WebhookSettings.shape.timeZone.describe('The IANA time zone that decides on which day a person leaves.'),
  })
  .refine((source) => source.quietSeconds <= source.quietMostSeconds, {
    path: ['quietMostSeconds'],
    error: 'must not be less than quietSeconds',
  })

/** The parsed settings of a source that is pushed over SCIM 2.0. */
export type ScimSource = z.infer<typeof ScimSource>

/** The settings with which SCIM changes in the inbox are read as events: each body is one event, and its time is that of its arrival. */
export function scimEventSettings({
  quietSeconds: quiet,
  quietMostSeconds: most,
  timeZone,
}: ScimSource): EventSettings {
  const event = { events: '', timeFormat: 'iso', toleranceSeconds: 0, thin: false } as const
  return { ...event, quietSeconds: quiet, quietMostSeconds: most, timeZone }
}
