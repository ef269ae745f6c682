import type { ConnectorContext } from '../../connector.ts'
import type { FlatRecord } from '../../json/cells.ts'
import type { ConfiguredJson } from '../client/secrets.ts'
import { columnPlaceholder } from '../settings/details.ts'

type Cells = FlatRecord['cells']

/** JSON that is made for each record. */
type JsonTemplate = {
  /** The columns that it needs. */
  readonly columns: readonly string[]
  readonly fill: (cells: Cells) => ConfiguredJson
}

/** The columns that a text names as {COLUMN}. */
export function columnsIn(text: string): readonly string[] {
  return [...text.matchAll(columnPlaceholder)].map(([, column = '']) => column)
}

/**
 * The address with the cells of a record in it. Returns null if a cell cannot be encoded, if the result is no address, or if a cell would
 * change the structure of the path, which encoding cannot prevent for "." and "..".
 */
export function fillAddress(template: string, cells: Cells): URL | null {
  const isEncodable = columnsIn(template).every((column) => cells.get(column)?.isWellFormed() ?? true)
  if (!isEncodable) return null
  const address = fillText(template, (column) => encodeURIComponent(cells.get(column) ?? ''))
  const [path = ''] = address.split(/[?#]/, 1)
  // URL parsers take %2e for a dot too.
  const hasDotSegment = path.split('/').some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment))
  return hasDotSegment ? null : URL.parse(address)
}

/** Compiles JSON of the configuration, in which texts name columns. Secrets are read now, and stay as they are. */
export async function jsonTemplate(
  value: ConfiguredJson,
  path: string,
  context: ConnectorContext,
): Promise<JsonTemplate> {
  if (typeof value === 'string') {
    const secret = await context.secret(path)?.read()
    if (secret !== undefined) return { columns: [], fill: () => secret }
    return { columns: columnsIn(value), fill: (cells) => fillText(value, (column) => cells.get(column) ?? '') }
  }
  if (typeof value !== 'object' || value === null) return { columns: [], fill: () => value }
  const members = await Promise.all(
    Object.entries(value).map(
      async ([name, member]) => [name, await jsonTemplate(member, `${path}.${name}`, context)] as const,
    ),
  )
  const columns = members.flatMap(([, member]) => member.columns)
  if (Array.isArray(value)) return { columns, fill: (cells) => members.map(([, { fill }]) => fill(cells)) }
  return { columns, fill: (cells) => Object.fromEntries(members.map(([name, { fill }]) => [name, fill(cells)])) }
}

function fillText(text: string, textOf: (column: string) => string): string {
  return text.replaceAll(columnPlaceholder, (_, column: string) => textOf(column))
}
