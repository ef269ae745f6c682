import { createHash, randomUUID } from 'node:crypto'
import { type JsonValue, pointer } from '../json/cells.ts'
import { resolveRecipe, type WebhookSettings } from './settings.ts'
import type { VerifiedRequest } from './verify.ts'

const maxIdCharacters = 256

/** Identifies an event. `id` is the sender's, or null if it gives none; `key` has a fixed length. */
type EventKey = { readonly id: string | null; readonly key: string }

type ReceivedEvent = {
  readonly settings: Pick<WebhookSettings, 'recipe' | 'id' | 'thin'>
  readonly verified: VerifiedRequest
  readonly body: Uint8Array
  /** The body as `readJson` parses it. */
  readonly value: JsonValue
}

/**
 * The key that is equal for an event that arrives twice. It is made from the sender's id or, without an id, from the bytes of the body and
 * the signed time of sending, if there is one: the same content sent at two times is two events. A thin event without an id gets a
 * unique key, because equal bytes may announce a change after the one that a run has already read.
 */
export function deduplicationKey({ settings, verified, body, value }: ReceivedEvent): EventKey {
  const id = eventId(settings, verified, value)
  if (id !== null) return { id, key: digestOf('id', id) }
  if (settings.thin) return { id, key: digestOf('thin', randomUUID()) }
  return { id, key: digestOf('body', String(verified.timestamp?.getTime() ?? ''), body) }
}

function eventId(
  settings: Pick<WebhookSettings, 'recipe' | 'id'>,
  verified: VerifiedRequest,
  value: JsonValue,
): string | null {
  const { id: idLocation } = resolveRecipe(settings)
  const path = settings.id ?? (idLocation && 'pointer' in idLocation ? idLocation.pointer : undefined)
  if (path === undefined) return verified.id
  const id = pointer(value, path)
  const isUsable = typeof id === 'string' && id.length > 0 && id.length <= maxIdCharacters
  return isUsable ? id : verified.id
}

/** The digest of several parts. Their lengths are part of it, so that two lists of parts never have the same bytes. */
function digestOf(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash('sha256')
  for (const part of parts) {
    const bytes = typeof part === 'string' ? Buffer.from(part, 'utf8') : part
    hash.update(`${bytes.length}:`).update(bytes)
  }
  return hash.digest('hex')
}
