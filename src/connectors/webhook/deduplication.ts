import { createHash } from 'node:crypto'
import { type JsonValue, pointer } from '../json/cells.ts'
import { recipeOf, type WebhookSettings } from './settings.ts'
import type { Verified } from './verify.ts'

const idLimit = 256

/** What tells one event from another: the sender's id, null where it gives none, and a key of fixed length that stands for it. */
export type EventKey = { readonly id: string | null; readonly key: string }

/**
 * The key by which an event that comes twice is known: that of the sender's id, or else of the bytes of its body. Where the sender signs
 * the time of sending, that is part of it: two events that say the same at different times are two, whatever was said between them.
 */
export function deduplicationKey({
  settings,
  verified,
  body,
  value,
}: {
  readonly settings: Pick<WebhookSettings, 'recipe' | 'id'>
  readonly verified: Verified
  readonly body: Uint8Array
  /** What the body holds, read by `readJson`. */
  readonly value: JsonValue
}): EventKey {
  const id = eventId(settings, verified, value)
  if (id !== null) return { id, key: digestOf('id', id) }
  return { id, key: digestOf('body', String(verified.timestamp?.getTime() ?? ''), body) }
}

function eventId(
  settings: Pick<WebhookSettings, 'recipe' | 'id'>,
  verified: Verified,
  value: JsonValue,
): string | null {
  const { id } = recipeOf(settings)
  const path = settings.id ?? (id && 'pointer' in id ? id.pointer : undefined)
  if (path === undefined) return verified.id
  const found = pointer(value, path)
  const isId = typeof found === 'string' && found.length > 0 && found.length <= idLimit
  return isId ? found : verified.id
}

/** Each part goes in with its length, so that no two lists of parts give the same bytes. */
function digestOf(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash('sha256')
  for (const part of parts) {
    const bytes = typeof part === 'string' ? Buffer.from(part, 'utf8') : part
    hash.update(`${bytes.length}:`).update(bytes)
  }
  return hash.digest('hex')
}
