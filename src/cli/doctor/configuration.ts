import { isMap, isScalar, isSeq, parseDocument, stringify } from 'yaml'
import type { Scrub } from './scrub.ts'

/** Settings whose texts are our own words, times, sizes or names of columns. Of every other text only the length is shown. */
const plainSettings: ReadonlySet<string> = new Set([
  ...['type', 'mode', 'preset', 'absence', 'outOfScope', 'future', 'timeZone', 'onHold', 'format', 'encoding'],
  ...['delimiter', 'quote', 'kinds', 'connections', 'every', 'at', 'cron', 'leavingDate', 'column', 'columns', 'level'],
  ...['dateFormats', 'separatedAtMeans', 'host'],
])
const wholeReference = /^\$\{(env|file):([^{}]*)\}$/

type ShownValue = string | number | boolean | null | ShownValue[] | { [name: string]: ShownValue }

/**
 * The configuration as a helper needs it: every setting by name, numbers, switches, and the names of columns. Other texts are left out,
 * because an operator may have written anything there; of a secret only its origin is shown.
 */
export function shownConfiguration(text: string, scrub: Scrub): string {
  const document = parseDocument(text, { prettyErrors: false })
  if (document.errors.length > 0) return 'the file is no YAML\n'
  return stringify(toShownValue(document.contents, [], scrub))
}

function toShownValue(node: unknown, path: readonly string[], scrub: Scrub): ShownValue {
  if (isMap(node)) {
    const entries = node.items.map((pair): [string, ShownValue] => {
      const name = String(isScalar(pair.key) ? pair.key.value : pair.key)
      return [nameOf(name, path), toShownValue(pair.value, [...path, name], scrub)]
    })
    return Object.fromEntries(entries)
  }
  if (isSeq(node)) return node.items.map((item) => toShownValue(item, path, scrub))
  const value = isScalar(node) ? node.value : null
  if (typeof value === 'number' || typeof value === 'boolean') return value
  return typeof value === 'string' ? shownText(value, path, scrub) : null
}

function shownText(text: string, path: readonly string[], scrub: Scrub): string {
  const [, kind, name] = wholeReference.exec(text) ?? []
  // The name of a variable is shown, as all names of the environment are; the location of a file does not help.
  if (kind !== undefined) return kind === 'env' ? `(from the environment: ${name})` : '(from a file)'
  const setting = path.at(-1) ?? ''
  if (plainSettings.has(setting) || path.includes('fields')) return scrub.text(text)
  return `(text, ${[...text].length} characters)`
}

/** Names of settings, connections and channels are plain words; other names, such as a value of HR, are not shown. */
function nameOf(name: string, path: readonly string[]): string {
  const isOfValues = path.some((part) => /values|headers/i.test(part))
  return /^[A-Za-z][A-Za-z0-9-]{0,39}$/.test(name) && !isOfValues ? name : `(name, ${[...name].length} characters)`
}
