import { compileMapping, Mapping } from '../../src/identity/mapping/mapping.ts'
import type { MappableRow } from '../../src/identity/mapping/rows.ts'
import type { Observation, Reject } from '../../src/identity/record.ts'

type Around = {
  readonly fault?: NonNullable<MappableRow['fault']>
  readonly cellFaults?: NonNullable<MappableRow['cellFaults']>
  readonly asOf?: string
  readonly sparse?: boolean
  readonly timeZone?: string
  /** Results of expressions, in their order. */
  readonly derived?: readonly (string | undefined)[]
}

/** Maps one row of a source with these headers and cells, in line 41 of people.csv. */
export function mapRow(
  mapping: unknown,
  cells: Readonly<Record<string, string | undefined>>,
  { fault, cellFaults, asOf, derived = [], ...options }: Around = {},
): Observation | Reject {
  const compiled = compileMapping(Mapping.parse(mapping), Object.keys(cells), options)
  if (!compiled.ok) throw new Error(compiled.missing.join('; '))
  return compiled.map({
    values: [...Object.values(cells), ...derived],
    origin: { file: 'people.csv', line: 41 },
    ...(fault && { fault }),
    ...(cellFaults && { cellFaults }),
    ...(asOf !== undefined && { asOf }),
  })
}
