import { describe, expect, test } from 'vitest'
import { renderHandOver } from '../../../src/cli/render/hand-over.ts'
import { plain } from '../../../src/cli/render/text.ts'
import { groupTitle, handOverSummary } from '../../../src/contract/control/hand-over-texts.ts'
import { buildHandOver, type NamedFault } from '../../../src/daemon/hand-over/build.ts'
import { handOverFile } from '../../../src/daemon/hand-over/files.ts'
import { handOverMail } from '../../../src/daemon/hand-over/mail.ts'
import { unpacked } from '../../helpers/unpack.ts'

const now = new Date('2026-11-20T07:00:00.000Z')
const all = { now, values: true, perGroup: 100_000 }

function fault(key: string | null, overrides: Partial<NamedFault> = {}): NamedFault {
  return {
    connection: 'acme',
    fingerprint: `f ${key}`,
    identityId: key,
    name: `Name of ${key}`,
    leaver: false,
    cellOnly: true,
    contradicts: false,
    column: 'Termination Date',
    cause: 'placeholderDate',
    expected: '2026-10-31 (yyyy-MM-dd)',
    event: null,
    cell: '0000-00-00',
    reason: '"0000-00-00" stands for no date: list it under blankWhen',
    source: 'people.csv',
    line: 2,
    times: 1,
    firstAt: new Date('2026-11-01T01:00:00.000Z'),
    isNew: true,
    ...overrides,
  }
}

const many = Array.from({ length: 705 }, (_, at) => fault(`E${at}`, { line: at + 2 }))
const others = [
  fault('L1', { leaver: true, column: 'Status', cause: 'unlistedStatus', expected: 'Active', cell: 'Gone?' }),
  fault(null, {
    column: null,
    cause: 'damagedRow',
    cell: null,
    cellOnly: false,
    reason: 'the row has 9 cells',
    times: 2,
  }),
  fault('C1', {
    column: null,
    cause: 'contradiction',
    cell: null,
    contradicts: true,
    reason: 'the status says employed',
  }),
]

describe('the list', () => {
  test('has one entry and one remedy for all cells of a column with the same cause, those with departures first', () => {
    const list = buildHandOver([...many, ...others], all)

    expect(list.groups.map(groupTitle)).toEqual([
      '1 cell "Gone?" in Status',
      '705 cells "0000-00-00" in Termination Date',
      '2 rows',
      '1 row',
    ])
    expect(list.groups[1]).toMatchObject({
      count: 705,
      people: 705,
      remedy: 'Leave the cell empty where there is no date; otherwise write the date as 2026-10-31 (yyyy-MM-dd).',
    })
    expect(list.groups.map(({ rows: [row] }) => row?.blocks)).toEqual(['departure', 'field', 'row', 'nothing'])
    expect(handOverSummary(list)).toBe('HR has to correct 709 cells or rows of 707 people; 1 may hide a departure')
  })

  test('has groups of their own for events, which a correction does not change', () => {
    const ofEvent = fault('E1', { event: '17', source: 'event 17', line: 1, cell: null })
    const list = buildHandOver([fault('E2'), ofEvent], all)

    expect(list.groups.map(({ problem, rows }) => [problem, rows.map(({ source }) => source)])).toEqual([
      ['the cell holds a placeholder instead of a date', ['people.csv']],
      ['the field holds a placeholder instead of a date, in an event', ['event 17']],
    ])
    expect(list.groups.map(groupTitle)).toEqual([
      '1 cell "0000-00-00" in Termination Date',
      '1 field in Termination Date',
    ])
    expect(handOverSummary(list)).toBe('HR has to correct 2 cells, rows or events of 2 people')
    expect(list.groups[1]?.remedy).toMatch(/yyyy-MM-dd\)\. Your system then sends a new event/)
    expect(list.groups[1]?.rows[0]?.problem).toBe(list.groups[1]?.problem)
  })

  test('calls an event an event, and names no people where no key can be read', async () => {
    const whole = {
      event: '17',
      source: 'event msg_17',
      column: null,
      cellOnly: false,
      cause: 'damagedRow',
      cell: null,
    }
    const list = buildHandOver([fault(null, { ...whole, line: 2 })], all)
    const [csv, page] = [await handOverFile(list, 'csv'), await handOverFile(list, 'html')]

    expect(list.groups.map(groupTitle)).toEqual(['1 event'])
    expect(handOverSummary(list)).toBe('HR has to correct 1 field or event')
    expect(renderHandOver(list, plain)).toContain('event msg_17, item 2  key not readable')
    expect(csv.content.toString()).toContain('"the whole event"')
    expect(page.content.toString()).toContain('event msg_17, item 2')
    for (const { content } of [csv, page]) expect(content.toString()).not.toMatch(/line 2|the whole row/)
  })

  test('says on a terminal what the remedy calls the details', () => {
    const { groups } = buildHandOver([fault('a', { cause: 'schema', reason: 'must be one of Sales, Finance' })], all)

    expect(renderHandOver({ ...buildHandOver([], all), count: 1, groups }, plain)).toMatch(
      /as the details say[\s\S]*must be one of Sales, Finance/,
    )
  })

  test('holds neither names nor cells without values, and no words of the configuration', () => {
    const unnamed = [...many, ...others].map(({ name: _, ...rest }) => rest)

    const text = JSON.stringify(buildHandOver(unnamed, { ...all, values: false }))

    expect(text).not.toMatch(/0000-00-00|Gone\?|Name of|blankWhen/)
  })

  test('can be cut per group, and counts what is left out', () => {
    const { groups } = buildHandOver(many, { ...all, perGroup: 3 })

    expect(groups.map(({ rows, entries, count }) => [rows.length, entries, count])).toEqual([[3, 705, 705]])
  })

  test('counts the same row twice in one entry, and names different cells by how often they occur', () => {
    const { groups } = buildHandOver([fault('a', { times: 2 }), fault('b', { cell: '9999-12-31' })], all)

    expect(groups).toMatchObject([
      {
        count: 3,
        entries: 2,
        rows: [{ rows: 2 }, { rows: 1 }],
        cells: [
          { cell: '0000-00-00', count: 2 },
          { cell: '9999-12-31', count: 1 },
        ],
      },
    ])
    expect(groups.map(groupTitle)).toEqual(['3 cells in Termination Date'])
  })

  test('is empty without faults', () => {
    const list = buildHandOver([], all)

    expect(list).toMatchObject({ count: 0, groups: [] })
    expect(handOverSummary(list)).toBe('HR has nothing to correct')
  })
})

const hostile = ['=cmd|"/c calc"!A1', '+1', '-1', '@SUM(A1)', '<script>alert(1)</script>', 'a\u202eb\u001b[31m'].map(
  (cell, at) => fault(`H${at}`, { cell, name: cell, column: '=Column' }),
)

describe('the files', () => {
  test('have every row: person, key, file, line, column, cell, what is wrong, remedy, since and what it blocks', async () => {
    const { content, name } = await handOverFile(buildHandOver([...many, ...others], all), 'csv')

    const lines = content.toString().trimEnd().split('\r\n')

    expect(name).toBe('hr-corrections-2026-11-20.csv')
    expect(lines).toHaveLength(1 + 705 + 3)
    expect(lines[0]).toBe(
      '\ufeff"Person","Key","File","Line","Rows","Column","Cell","What is wrong","What to write instead","Since (UTC)","Blocks","Connection"',
    )
    expect(lines[1]).toMatch(
      /^"Name of L1","L1","people\.csv",2,1,"Status","Gone\?","the status is not known to Rollcall","Write one of: Active\. .*","2026-11-01","perhaps a departure","acme"$/,
    )
    expect(lines.at(-2)).toContain('"the row has 9 cells"')
  })

  test('of CSV run no formula and hold no control character', async () => {
    const { content } = await handOverFile(buildHandOver(hostile, all), 'csv')

    expect(content.toString()).not.toMatch(/(?:^|,)"[=+\-@]/m)
    expect(content.toString()).toContain(`"'=cmd|""/c calc""!A1"`)
    expect(content.toString()).not.toMatch(/\u202e|\p{Cc}(?<![\r\n])/u)
  })

  test('of HTML show markup as text', async () => {
    const { content } = await handOverFile(buildHandOver(hostile, all), 'html')

    expect(content.toString()).toContain('&lt;script&gt;')
    expect(content.toString()).not.toMatch(/<script|\u202e/)
  })

  test('of Excel have a line for each remedy and one for each row, as text and without formulas', async () => {
    const { content } = await handOverFile(buildHandOver([...many, ...others, ...hostile], all), 'xlsx')

    const files = await unpacked(content)
    const sheets = Object.keys(files)
      .filter((name) => /worksheets\/sheet\d\.xml$/.test(name))
      .map((name) => files[name] ?? '')
    const strings = Object.values(files).join('')

    expect(sheets.map((sheet) => sheet.match(/<row /g)?.length)).toEqual([1 + 5, 1 + 705 + 3 + hostile.length])
    expect(sheets.join('')).not.toContain('<f>')
    expect(strings).toContain('=cmd|')
    expect(strings).toContain('705 cells "0000-00-00" in Termination Date')
    expect(strings).not.toMatch(/\u202e|\p{Cc}(?<![\r\n\t])|<script/u)
  })

  test.each(['csv', 'html', 'xlsx'] as const)('of %s have neither names nor cells without values', async (format) => {
    const unnamed = many.map(({ name: _, ...rest }) => rest)
    const list = buildHandOver(unnamed, { ...all, values: false })

    const { content } = await handOverFile(list, format)
    const text = format === 'xlsx' ? Object.values(await unpacked(content)).join() : String(content)

    expect(text).not.toMatch(/0000-00-00|Name of|>Person<|"Person"/)
    expect(text).toContain('E704')
  })
})

describe('the mail', () => {
  const options = {
    attachment: 'csv',
    valuesInBody: false,
    link: 'https://rollcall.example/problems/hr',
    messageId: '<1@a>',
  } as const

  test('has the counts and remedies in its text, no value, and the list attached', async () => {
    const old = many.map((one, at) => ({ ...one, isNew: at < 5 }))

    const { subject, text, attachments = [] } = await handOverMail(buildHandOver([...old, ...others], all), options)

    expect(subject).toBe('[Rollcall] HR has to correct 709 cells or rows of 707 people; 1 may hide a departure')
    expect(text).toContain(
      '- 705 cells in Termination Date (acme): the cell holds a placeholder instead of a date; 5 of them new.',
    )
    expect(text).toContain('- 1 cell in Status (acme): the status is not known to Rollcall; 1 may hide a departure.')
    expect(text).toContain('https://rollcall.example/problems/hr')
    expect(text).not.toMatch(/0000-00-00|Gone\?|Name of|E704/)
    expect(attachments.map(({ filename }) => filename)).toEqual(['hr-corrections-2026-11-20.csv'])
    expect(String(attachments[0]?.content)).toContain('Name of E704')
  })

  test('quotes cells where the configuration says so, and has only the counts without an attachment', async () => {
    const list = buildHandOver(many, all)

    const quoting = await handOverMail(list, { ...options, valuesInBody: true, attachment: 'none' })

    expect(quoting.text).toContain('705 cells "0000-00-00" in Termination Date')
    expect(quoting.text).not.toContain('Name of')
    expect(quoting.text).toContain('The console lists every row with its details:\nhttps://')
    expect(quoting.attachments).toEqual([])
  })
})
