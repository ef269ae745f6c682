import { createHash, randomUUID } from 'node:crypto'
import { type JsonValue, pointer } from '../json/cells.ts'
import { resolveRecipe, type WebhookSettings } from './settings.ts'
import type { VerifiedRequest } from './verify.ts'

const idLimit = 256

/** Identifies an event. `id` is the sender's, or null if it gives none; `key` has a fixed length. */
type EventKey = { readonly id: string | null; readonly key: string }

/**
 * The key by which an event that arrives twice is recognised. It comes from the sender's id or, without an id, from the bytes of the
 * body. If the sender signs the time of sending, the time is part of the key: the same content sent at two times is two events. A thin
 * event without an id gets a key of its own: equal bytes may speak of a change after the one that a run has already read.
 */
export function deduplicationKey({
  settings,
  verified,
  body,
  value,
}: {
  readonly settings: Pick<WebhookSettings, 'recipe' | 'id' | 'thin'>
  readonly verified: VerifiedRequest
  readonly body: Uint8Array
  /** The body as `readJson` reads it. */
  readonly value: JsonValue
}): EventKey {
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
  const { id } = resolveRecipe(settings)
  const path = settings.id ?? (id && 'pointer' in id ? id.pointer : undefined)
  if (path === undefined) return verified.id
  const found = pointer(value, path)
  const isId = typeof found === 'string' && found.length > 0 && found.length <= idLimit
  return isId ? found : verified.id
}

/** The digest of some parts. Each part is preceded by its length, so that two lists of parts never give the same bytes. */
function digestOf(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash('sha256')
  for (const part of parts) {
    const bytes = typeof part === 'string' ? Buffer.from(part, 'utf8') : part
    hash.update(`${bytes.length}:`).update(bytes)
  }
  return hash.digest('hex')
}
