import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Failure } from '../../../src/errors.ts'
import { readCsv } from '../../helpers/sources/csv.ts'
import { written } from '../../helpers/sources/csv-writer.ts'
import { rowOf, sheetOf, workbookOf, xlsx } from '../../helpers/sources/workbooks.ts'
import { isFull } from '../../helpers/tier.ts'

const runs = isFull ? 10 : 1
/** Of computing, which other programs of the machine do not slow down. */
const maxMicroseconds = 3_000_000

const people = Array.from(
  { length: 40 },
  (_, index) => [String(index), `Ana ${index * 7919}`, index % 3 === 0 ? '2026-10-31' : ''] as const,
)
const rows = [
  ...[rowOf(1, 'id', 'name', 'end')],
  ...people.map(([id, name, end], index) => rowOf(index + 2, id, name, end)),
].join('')
const content = {
  sheet: `${rows}<row r="99"><c t="s" s="1"><v>0</v></c></row>`,
  strings: ['<t>last</t>'],
  formats: ['000'],
}
const book = await workbookOf(content)
const whole = await readCsv(book, xlsx)

type Mutation = {
  readonly kind: 'set' | 'cut' | 'drop' | 'repeat'
  readonly at: number
  readonly byte: number
  readonly length: number
}

const mutations = fc.array(
  fc.record<Mutation>({
    kind: fc.constantFrom('set', 'set', 'set', 'cut', 'drop', 'repeat'),
    at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
    byte: fc.integer({ min: 0, max: 255 }),
    length: fc.integer({ min: 1, max: 64 }),
  }),
  { minLength: 1, maxLength: 4 },
)

function mutated(bytes: Buffer, changes: readonly Mutation[]): Buffer {
  let result = Buffer.from(bytes)
  for (const { kind, at, byte, length } of changes) {
    const position = Math.floor(at * result.length)
    const until = Math.min(result.length, position + length)
    if (kind === 'set' && position < result.length) result[position] = byte
    if (kind === 'cut') result = result.subarray(0, position)
    if (kind === 'drop') result = Buffer.concat([result.subarray(0, position), result.subarray(until)])
    if (kind === 'repeat') result = Buffer.concat([result.subarray(0, until), result.subarray(position)])
  }
  return result
}

/** What was read; null if it was refused in a sentence. Anything else, and whatever takes too long, fails. */
async function readOrRefused(bytes: Buffer) {
  const before = process.cpuUsage()
  try {
    return await readCsv(bytes, xlsx)
  } catch (error) {
    if (error instanceof Failure && error.code === 'source_unreadable') return null
    throw error
  } finally {
    const { user, system } = process.cpuUsage(before)
    expect(user + system).toBeLessThan(maxMicroseconds)
  }
}

test('an archive with changed bytes is refused, or says what it said', async () => {
  let refused = 0
  await fc.assert(
    fc.asyncProperty(mutations, async (changes) => {
      const read = await readOrRefused(mutated(book, changes))
      if (read === null) refused += 1
      else expect(read).toEqual(whole)
    }),
    { numRuns: 400 * runs },
  )

  expect(refused).toBeGreaterThan(100)
})

// Their checksums are right, as if their writer was broken: cells may change, but nothing may end in anything but rows or a sentence.
test.for([
  'xl/worksheets/sheet1.xml',
  'xl/sharedStrings.xml',
  'xl/styles.xml',
  'xl/workbook.xml',
  '[Content_Types].xml',
])('a workbook whose part %s has changed bytes is refused or read', async (part) => {
  const parts: Readonly<Record<string, string>> = {
    'xl/worksheets/sheet1.xml': sheetOf(content.sheet),
    'xl/sharedStrings.xml': '<sst><si><t>last</t></si></sst>',
    'xl/styles.xml':
      '<styleSheet><numFmts><numFmt numFmtId="200" formatCode="000"/></numFmts><cellXfs><xf/><xf numFmtId="200"/></cellXfs></styleSheet>',
    'xl/workbook.xml':
      '<workbook xmlns:r="r"><sheets><sheet name="People" sheetId="1" r:id="rId1"/></sheets></workbook>',
    '[Content_Types].xml': '<Types><Default Extension="xml" ContentType="x/spreadsheetml.sheet.main+xml"/></Types>',
  }
  const text = Buffer.from(parts[part] ?? '')
  expect(await readOrRefused(await workbookOf({ ...content, parts: { [part]: text } }))).toEqual(whole)

  await fc.assert(
    fc.asyncProperty(mutations, async (changes) => {
      await readOrRefused(await workbookOf({ ...content, parts: { [part]: mutated(text, changes) } }))
    }),
    { numRuns: 60 * runs },
  )
})

const plain = { delimiter: ',', quote: '"', escape: 'doubled', encoding: 'utf-8', lastLine: 'terminated' } as const
const cell = fc.string({
  unit: fc.constantFrom('a', 'ü', '語', '🦊', ' ', ',', '"', '\n', '<', '&', '_x0041_', '0', '1', '.', '='),
  maxLength: 6,
})
const table = fc.array(fc.tuple(fc.constantFrom('k', 'id'), cell, cell, cell), { maxLength: 30 })

test('texts have the rows of their CSV, whether they are shared or inline', async () => {
  const header = ['key', 'b', 'c', 'd']
  await fc.assert(
    fc.asyncProperty(table, fc.boolean(), async (body, isShared) => {
      const escaped = (text: string) =>
        text.replaceAll('_x', '_x005F_x').replaceAll('&', '&amp;').replaceAll('<', '&lt;')
      const texts = [...new Set(body.flat())]
      const strings = texts.map((text) => `<t xml:space="preserve">${escaped(text)}</t>`)
      const shared = (text: string) => `<c t="s"><v>${texts.indexOf(text)}</v></c>`
      const inline = (text: string) => `<c t="inlineStr"><is><t>${escaped(text)}</t></is></c>`
      const lines = body.map(
        (row) => `<row>${row.map((text) => (isShared ? shared(text) : inline(text))).join('')}</row>`,
      )
      const csv = written([header, ...body], {
        format: plain,
        lineEnd: '\n',
        mark: false,
        encloseAll: true,
        wrapped: 'plain',
      })

      const read = await readCsv(await workbookOf({ sheet: rowOf(1, ...header) + lines.join(''), strings }), xlsx)

      expect(read.rows).toEqual((await readCsv(csv)).rows)
    }),
    { numRuns: 60 * runs },
  )
})
