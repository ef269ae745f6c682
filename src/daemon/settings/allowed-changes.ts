import { parseDocument } from 'yaml'
import { exportFormat } from '../../connectors/file/format.ts'
import { isObject } from '../config/values.ts'
import { type SectionProblem, sectionOf } from './sections.ts'

type Change = {
  /** The texts of the whole file. */
  readonly before: string
  readonly after: string
  readonly connection: string
  readonly file: string
  /** The installation is a trial: addresses may be given. */
  readonly isTrial: boolean
}

/** Settings that name files of the machine, and groups that hold such a setting. */
const fileSettings = /^(?:ca|decrypt|clientCertificate)(?:\.|$)|^oauth2(?:$|\.certificate)/
const { decrypt: _, ...plainFormat } = exportFormat
/** Settings of a source or a webhook that name neither files nor addresses, and hold no secret. */
const harmless: ReadonlySet<string> = new Set([
  ...Object.keys(plainFormat),
  ...['format', 'mode', 'timeZone', 'future', 'leavingDate', 'requestsPerMinute'],
  ...['preset', 'fields', 'record', 'action', 'severalRows', 'onBadCell', 'rowTimeZone', 'scope', 'group'],
  ...['status', 'statusMeans', 'outOfScope', 'absence', 'graceRuns'],
])

/**
 * What a change does that a person at a browser may not do. A new reference could read any file of the machine, and another address
 * could be sent the secrets of the present one. Only the connection itself may change.
 */
export function forbiddenChanges({ before, after, connection, file, isTrial }: Change): SectionProblem[] {
  const [former, next] = [valuesOf(before), valuesOf(after)]
  if (former === null || next === null)
    return [{ section: null, message: 'an alias cannot be followed: write the settings out' }]
  if (restOf(former, connection) !== restOf(next, connection))
    return [{ section: null, message: `other settings of ${file} use this one through an alias: change it there` }]
  const [old, changed] = [leavesOf(connectionIn(former, connection)), leavesOf(connectionIn(next, connection))]
  const isPresetOfFile = [old, changed].every(readsFile)
  return [...new Set([...old.keys(), ...changed.keys()])].flatMap((key) => {
    if (old.get(key) === changed.get(key)) return []
    const path = JSON.parse(key) as string[]
    const message = whyForbidden(path, changed.get(key) ?? '', { file, isTrial, isPresetOfFile })
    return message === null ? [] : [{ section: sectionOf(path), message }]
  })
}

type Permissions = Pick<Change, 'file' | 'isTrial'> & {
  /** The preset names columns only. The preset of an HR system's API is a recipe, which also names the address. */
  readonly isPresetOfFile: boolean
}

function whyForbidden(
  path: readonly string[],
  value: string,
  { file, isTrial, isPresetOfFile }: Permissions,
): string | null {
  const name = path.join('.')
  if (`${name}${value}`.includes('${'))
    return `${name}: references such as \${file:…} are not written here: write it into ${file} on the machine`
  const [part = '', ...below] = path
  if (part !== 'source' && part !== 'webhook') return null
  const isAllowed = isTrial
    ? part === 'source' && !fileSettings.test(below.join('.'))
    : (harmless.has(below[0] ?? '') && (below[0] !== 'preset' || isPresetOfFile)) ||
      (below.length === 0 && value === '')
  if (isAllowed) return null
  return `${name} may name a file, an address or a secret: change it in ${file} on the machine`
}

/** Whether the settings state a source of another type than HTTP. Those of a recipe state no type. */
function readsFile(leaves: ReadonlyMap<string, string>): boolean {
  const type = leaves.get(JSON.stringify(['source', 'type']))
  return type !== undefined && type !== '"http"'
}

function valuesOf(text: string): unknown {
  try {
    return parseDocument(text).toJS() ?? {}
  } catch (error) {
    if (error instanceof ReferenceError) return null
    throw error
  }
}

function connectionIn(values: unknown, connection: string): unknown {
  const { connections } = Object(values)
  return isObject(connections) ? connections[connection] : undefined
}

/** Everything but the connection, as a text. */
function restOf(values: unknown, connection: string): string {
  const { connections, ...others } = Object(values)
  const { [connection]: __, ...rest } = Object(connections)
  return JSON.stringify([others, rest])
}

/** The single values of settings, as texts, by their paths as JSON. */
function leavesOf(value: unknown, path: readonly string[] = []): Map<string, string> {
  if (typeof value !== 'object' || value === null) return new Map([[JSON.stringify(path), JSON.stringify(value) ?? '']])
  return new Map(Object.entries(value).flatMap(([name, member]) => [...leavesOf(member, [...path, name])]))
}
