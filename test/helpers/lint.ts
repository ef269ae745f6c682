import { expect } from 'vitest'
import { createLint } from '../../src/identity/lint/lint.ts'
import type { Observation, Reject } from '../../src/identity/record.ts'
import { observation, reject } from './records.ts'

export const columns = {
  identityId: 'Worker ID',
  email: 'Work Email',
  jobTitle: 'Job Title',
  startedAt: 'Hire Date',
  separatedAt: 'Last Day',
  status: 'Status',
}

/** Lints the results of the rows of an export, which begin in line 2. Only rejects use `cells`. */
export function lintOf(
  rows: readonly (Observation | Reject)[],
  scope: Partial<Parameters<typeof createLint>[0]> = {},
  cells: readonly (readonly string[])[] = [],
) {
  const headers = Object.values(columns)
  const lint = createLint({ mode: 'snapshot', headers, columns, exportDate: '2026-11-20', ...scope })
  for (const [index, one] of rows.entries()) {
    const origin = { file: 'people.csv', line: index + 2 }
    const placed = 'reason' in one ? { ...one, line: origin.line } : { ...one, origin }
    lint.addRow({ values: cells[index] ?? [], origin }, placed)
  }
  return lint.findings()
}

/** People of an ordinary company: the first of them has left. */
export function people(count: number, overrides: (index: number) => Partial<Observation> = () => ({})): Observation[] {
  return Array.from({ length: count }, (_, index) => {
    const { identityId = `W${index}`, fields, ...rest } = overrides(index)
    const startedAt = `2020-01-${String((index % 28) + 1).padStart(2, '0')}T00:00:00.000Z`
    return observation(identityId, {
      leavingDate: index === 0 ? '2026-10-31' : null,
      ...rest,
      fields: { email: `${index}@example.com`, jobTitle: 'Engineer', startedAt, ...fields },
    })
  })
}

/** A row that was rejected for what one of its cells held. */
export function rejected(column: string | null): Reject {
  return reject('W1', { column })
}

/** A single finding of this check, in this line. */
export function only(check: string, line?: number) {
  return [{ check, message: expect.any(String), ...(line !== undefined && { line }) }]
}
