import { expect, test } from 'vitest'
import { renderComparison } from '../../../src/cli/render/statement.ts'
import { plain } from '../../../src/cli/render/text.ts'

const lists = { faults: [], onlyInExport: [], onlyInStatement: [], differing: [] }
const keys = { inStatement: 'k', inExport: 'k' }

test.each([
  [3, 'abc', '3 rows, SHA-256 abc.'],
  [null, null, 'it has no number of rows, no SHA-256 of the file.'],
])('a comparison names only figures that the statement has: %s rows, SHA-256 %s', (rows, sha256, text) => {
  const comparison = {
    ...{ connection: 'acme', matches: true, keys, ...lists },
    rows: { inStatement: rows, inExport: 3 },
    file: { inStatement: sha256, inExport: 'abc' },
  }

  expect(renderComparison(comparison, plain)).toBe(`The statement of acme is what the export says: ${text}`)
})
