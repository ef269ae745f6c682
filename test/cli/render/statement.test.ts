import { expect, test } from 'vitest'
import { renderComparison, renderStatement } from '../../../src/cli/render/statement.ts'
import { plain } from '../../../src/cli/render/text.ts'
import { platformParts, type Statement, statedParts } from '../../../src/contract/control/statements.ts'
import { statementPage } from '../../../src/daemon/reports/statement-page.ts'

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

test('a statement with a later run that has none says when everybody was accounted for, and not that they are', () => {
  const zeros = <T extends object>(parts: T) =>
    Object.fromEntries(Object.keys(parts).map((name) => [name, 0])) as Record<keyof T, number>
  const statement: Statement = {
    ...{
      connection: 'acme',
      runId: 'first',
      madeAt: '2026-11-20T03:00:00.000Z',
      rules: null,
      export: null,
      rows: null,
    },
    stated: { exported: 0, further: 0, parts: zeros(statedParts) },
    platform: { records: 0, parts: zeros(platformParts) },
    ...{ addsUp: true, differences: [], unaccounted: [] },
  }
  const older = { ...statement, unstatedRunId: 'later' }

  expect(renderStatement(statement, plain)).toContain('Everybody is accounted for.')
  expect(statementPage(statement)).toContain('<p class="verdict good">Everybody is accounted for.')
  expect(renderStatement(older, plain)).toMatch(
    /later run later\. This one is older:\nEverybody was accounted for at 2026-11-20/,
  )
  expect(statementPage(older)).toContain('Everybody was accounted for at 2026-11-20')
  expect(statementPage(older)).not.toContain('verdict good')
})
