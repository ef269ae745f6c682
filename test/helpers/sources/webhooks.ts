import { namedRecipe, type RecipeName } from '../../../src/connectors/webhook/named-recipes.ts'
import { WebhookRecipe as Recipe, type WebhookRecipe } from '../../../src/connectors/webhook/recipe.ts'
import { signWebhook } from '../../../src/connectors/webhook/sign.ts'
import { verifyWebhook, type WebhookRequest } from '../../../src/connectors/webhook/verify.ts'

/** What a request of one sender is made of; the rest stands below. */
export type SentWebhook = {
  readonly recipe?: WebhookRecipe | RecipeName
  readonly secret?: string
  readonly id?: string
  readonly body?: string | Uint8Array
  readonly sentAt?: Date
}

export const sentAt = new Date('2026-11-20T10:00:00.000Z')
export const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

/** The request that a sender would send, ready to be verified at the time of sending. */
export function sentWebhook(sent: SentWebhook = {}): WebhookRequest {
  const request = { recipe: 'standard-webhooks' as const, secret, id: 'msg_1', body: '{"id":"7"}', sentAt, ...sent }
  const recipe = typeof request.recipe === 'string' ? namedRecipe(request.recipe) : Recipe.parse(request.recipe)
  const body = typeof request.body === 'string' ? Buffer.from(request.body) : request.body
  const headers = signWebhook({ recipe, secret: request.secret, id: request.id, body, now: request.sentAt })
  return { recipe, secrets: [request.secret], headers, body, now: request.sentAt, toleranceSeconds: 300 }
}

/** What the verifier says in a word: `ok`, or the reason of its refusal. */
export function verdictOf(request: WebhookRequest): string {
  const verdict = verifyWebhook(request)
  return verdict.ok ? 'ok' : verdict.reason
}
