import type { z } from 'zod'
import { WebhookRecipe } from './recipe.ts'

const pingLimitBytes = 1000

const definitions = {
  'standard-webhooks': {
    algorithm: 'sha256',
    signature: {
      header: 'webhook-signature',
      encoding: 'base64',
      prefix: 'v1,',
      publicKeyPrefix: 'v1a,',
      separator: ' ',
    },
    signed: '{id}.{timestamp}.{body}',
    timestamp: { header: 'webhook-timestamp' },
    id: { header: 'webhook-id' },
    secretEncoding: 'whsec',
  },
  finch: {
    algorithm: 'sha256',
    signature: { header: 'Finch-Signature', encoding: 'base64', prefix: 'v1,', separator: ' ' },
    signed: '{id}.{timestamp}.{body}',
    timestamp: { header: 'Finch-Timestamp' },
    id: { header: 'Finch-Event-ID' },
    secretEncoding: 'whsec',
  },
  bamboohr: {
    algorithm: 'sha256',
    signature: { header: 'X-BambooHR-Signature' },
    signed: '{body}{timestamp}',
    timestamp: { header: 'X-BambooHR-Timestamp', unit: 'secondsOrIso' },
  },
  hibob: {
    algorithm: 'sha512',
    signature: { header: 'Bob-Signature', encoding: 'base64' },
    ping: ['Ping test', '"Ping test"', '{"text":"Ping test"}'],
  },
  personio: { algorithm: 'token', signature: { header: 'Authorization' } },
  merge: { algorithm: 'sha256', signature: { header: 'X-Merge-Webhook-Signature', encoding: 'base64url' } },
  gusto: { algorithm: 'sha256', signature: { header: 'X-Gusto-Signature' }, id: { pointer: '/uuid' } },
  deel: { algorithm: 'sha256', signature: { header: 'x-deel-signature' }, signed: 'POST{body}' },
  // The id of the delivery stands in a header that is not signed, so it proves nothing.
  github: { algorithm: 'sha256', signature: { header: 'X-Hub-Signature-256', prefix: 'sha256=' } },
  stripe: {
    algorithm: 'sha256',
    signature: { header: 'Stripe-Signature', pair: 'v1' },
    signed: '{timestamp}.{body}',
    timestamp: { pair: 't' },
    id: { pointer: '/id' },
  },
  kombo: {
    algorithm: 'sha256',
    signature: { header: 'X-Kombo-Signature', encoding: 'base64url' },
    id: { pointer: '/id' },
  },
} as const satisfies Readonly<Record<string, z.input<typeof WebhookRecipe>>>

/** The name of a sender that Rollcall knows. */
export type RecipeName = keyof typeof definitions

/** The senders whose recipes are known by name. */
export const recipeNames = Object.keys(definitions) as readonly RecipeName[]

const recipes = new Map<RecipeName, WebhookRecipe>()

/** The recipe of a sender that is known by name. */
export function namedRecipe(name: RecipeName): WebhookRecipe {
  return recipes.getOrInsertComputed(name, () => WebhookRecipe.parse(definitions[name]))
}

/** Whether a body is only a test of the address. This says nothing about its signature. */
export function isPing(recipe: WebhookRecipe, body: Uint8Array): boolean {
  if (recipe.ping.length === 0 || body.length > pingLimitBytes) return false
  const text = withoutSpaces(Buffer.from(body).toString('utf8'))
  return recipe.ping.some((ping) => withoutSpaces(ping) === text)
}

function withoutSpaces(text: string): string {
  return text.replaceAll(/\s/g, '')
}
