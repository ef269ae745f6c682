import type { Reading, SourceRow } from '../../src/connectors/connector.ts'
import { withExpressions } from '../../src/connectors/expressions/expressions.ts'

export type Cells = readonly (string | undefined)[]
export type DamagedRow =
  | Required<Pick<SourceRow, 'values' | 'fault'>>
  | Required<Pick<SourceRow, 'values' | 'cellFaults'>>

type Options = {
  readonly names?: readonly string[]
  readonly sparse?: boolean
  readonly optional?: boolean
  readonly limits?: NonNullable<Parameters<typeof withExpressions>[2]>
}

export const headers = ['Work Email', 'First', 'Last']
export const ana = ['Ana@Example.com', 'Ana', 'Li']

/** Rows with the results of expressions behind their cells; the cells stand in the order of `names`. */
export async function derive(
  expressions: string | readonly string[],
  rows: readonly (Cells | DamagedRow)[],
  { names = headers, sparse = false, optional = false, limits }: Options = {},
): Promise<SourceRow[]> {
  const texts = [expressions].flat().map((text) => ({ text, optional }))
  const sourceRows = rows.map((row, index) => ({
    ...('fault' in row || 'cellFaults' in row ? row : { values: row }),
    origin: { file: 'people.csv', line: index + 2 },
  }))
  const { rows: slices } = withExpressions({ ...readingOf(sourceRows), headers: names, sparse }, texts, limits)
  return (await Array.fromAsync(slices)).flat()
}

/** The results of the first row alone. */
export async function resultsOf(...[expressions, rows, options]: Parameters<typeof derive>): Promise<Cells> {
  const [row] = await derive(expressions, rows, options)
  return row?.values.slice((options?.names ?? headers).length) ?? []
}

/** A snapshot of these rows in one slice. */
export function readingOf(rows: readonly SourceRow[]): Reading {
  return {
    mode: 'snapshot',
    asOf: '2026-11-20T01:00:00.000Z',
    source: { name: 'people.csv', bytes: 1, version: '1' },
    headers,
    rows: (async function* () {
      yield rows
    })(),
  }
}
