import { createHash } from 'node:crypto'
import { fingerprint } from '../../identity/digest.ts'
import type { ConfigFile } from './schema.ts'
import { connectionSecrets, possibleSecrets } from './source-settings.ts'

type Feed = {
  readonly mapping: object
  readonly traps: readonly unknown[]
  readonly absence: string
  readonly graceRuns: number
  readonly timeZone: string
  readonly future: string
  readonly settings: object
}

type DigestedSettings = {
  readonly target: object
  readonly guards: object
  readonly pinned: readonly string[]
  readonly onHold: object
  readonly source: Feed | null
  readonly pushed: Feed | null
  readonly webhook: Feed | null
}

/**
 * A digest of how a connection is read and guarded, by which it is known whether that has changed. How fast and when something is sent
 * counts for nothing, and neither do secrets, so that one can be replaced while a plan waits.
 */
export function configurationDigest(
  { target, guards, pinned, onHold, source, pushed, webhook }: DigestedSettings,
  approvals: ConfigFile['approvals'],
): string {
  const rules = {
    target,
    guards,
    pinned,
    onHold,
    approvals,
    source: feed('source', source ?? pushed),
    webhook: feed('webhook', webhook),
  }
  return fingerprint(inOrder(rules))
}

function feed(part: 'source' | 'webhook', config: Feed | null): unknown {
  if (config === null) return null
  const { mapping, traps, absence, graceRuns, timeZone, future, settings } = config
  return { mapping, traps, absence, graceRuns, timeZone, future, settings: withoutSecrets(settings, [part]) }
}

const secrets: ReadonlySet<string> = new Set([...connectionSecrets, ...possibleSecrets])

function withoutSecrets(value: unknown, path: readonly string[]): unknown {
  if (secrets.has(path.join('.'))) return null
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, withoutSecrets(member, [...path, name])]),
  )
}

/** The same value with the members of its objects sorted by name: a file may list them in any order. */
export function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(members.map(([name, member]) => [name, inOrder(member)]))
}

/** The digest of the text of a file. */
export function digestOf(text: string): string {
  return `sha256:${createHash('sha256').update(text).digest('hex')}`
}
