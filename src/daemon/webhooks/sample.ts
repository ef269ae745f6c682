import { randomUUID } from 'node:crypto'
import { resolveRecipe } from '../../connectors/webhook/settings.ts'
import { signWebhook } from '../../connectors/webhook/sign.ts'
import type { WebhookConfig } from '../config/config.ts'
import { testType } from './webhooks.ts'

/** A test request: its event ID, its body and its signed headers. */
export type WebhookSample = {
  readonly id: string
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

/**
 * A test request as the sender of this webhook would send it, about no person. It is answered like any event and never planned. Signed
 * with the first secret; throws a failure if only the sender can sign.
 */
export async function webhookSample(
  { settings, secrets: [first] }: Pick<WebhookConfig, 'settings' | 'secrets'>,
  { now }: { readonly now: Date },
): Promise<WebhookSample> {
  if (first === undefined) throw new Error('a webhook without a secret')
  const id = `rollcall-test-${randomUUID()}`
  const body = JSON.stringify({ type: testType, id, sentAt: now.toISOString() })
  const secret = await first.read()
  const signed = signWebhook({ recipe: resolveRecipe(settings), secret, id, body: Buffer.from(body), now })
  return { id, body, headers: { 'content-type': 'application/json', ...signed } }
}
