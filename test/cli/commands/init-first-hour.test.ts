import { appendFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { call } from '../../helpers/called.ts'
import { createPostgresDatabase, type TestDatabase } from '../../helpers/servers/databases.ts'
import { rowOf, textCell, workbookOf } from '../../helpers/sources/workbooks.ts'
import { type Host, startHost } from '../../helpers/world.ts'

const fixtures = fileURLToPath(new URL('../../fixtures/first-hour/', import.meta.url))

let host: Host
let database: TestDatabase
let folder = ''

beforeAll(async () => {
  host = await startHost()
  folder = await mkdtemp(join(tmpdir(), 'rollcall-test-'))
  const { key } = await host.tenant()
  await writeFile(join(folder, 'key'), `${key}\n`)
  database = await createPostgresDatabase()
  // Its address may have a password, which is refused in the configuration itself.
  await writeFile(join(folder, 'database'), database.at)
})
afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
  await database[Symbol.asyncDispose]()
  await host[Symbol.asyncDispose]()
})

/** What `init --yes` and then `check` say of an export, and the source that was written. */
async function firstHour(name: string, ...args: string[]) {
  const out = join(folder, `${name}.yaml`)
  const source = join(fixtures, `${name}.csv`)
  const options = ['--platform-url', host.platform.baseUrl, '--key-file', join(folder, 'key'), '--out', out]
  const written = await call(['init', '--yes', '--source', source, ...options, ...args])
  if (written.exit !== 0) return { written, check: null, source: null }
  const check = await checkOf(out)
  const { connections } = parse(await readFile(out, 'utf8'))
  return { written, check, source: connections.hr.source }
}

/** What `check` says of a written configuration, with a database that need not be made. */
async function checkOf(configFile: string) {
  await appendFile(configFile, 'database: ${file:database}\n')
  return await call(['check', '--config', configFile])
}

const rightAway: readonly (readonly [name: string, read: string, source: object, exit: number])[] = [
  [
    'sap-german',
    '39 rows, 39 records, 0 rejected, 0 with a bad cell',
    { preset: 'sap-hcm', encoding: 'windows-1252', headerLine: 2 },
    // Everybody starts on one day, which holds the first plan.
    65,
  ],
  [
    'sql-default-dates',
    '50 rows, 50 records, 0 rejected, 0 with a bad cell',
    { preset: 'generic', fields: { separatedAt: { blankWhen: ['1900-01-01'] } } },
    0,
  ],
  [
    'unpadded-dates',
    '20 rows, 20 records, 0 rejected, 0 with a bad cell',
    { fields: { startedAt: { format: 'M/d/yyyy' } } },
    0,
  ],
  [
    'effective-dated-rows',
    '22 rows, 20 records, 0 rejected, 0 with a bad cell',
    { severalRows: { latest: { column: 'Effective Date', format: 'yyyy-MM-dd' } } },
    0,
  ],
  [
    'full-name-only',
    '20 rows, 20 records, 0 rejected, 0 with a bad cell',
    { fields: { lastName: { expression: expect.stringContaining('`full_name`') } } },
    0,
  ],
  [
    'manager-keys-as-floats',
    '30 rows, 30 records, 0 rejected, 0 with a bad cell',
    { fields: { managerId: { expression: expect.stringContaining('`Manager ID`') } } },
    0,
  ],
  ['employed-with-a-past-leaving-date', '21 rows, 21 records, 0 rejected, 0 with a bad cell', { preset: 'generic' }, 0],
]

describe('what is proposed is right: check reads every row and every cell', () => {
  test.each(rightAway)('%s', async (name, read, source, exit) => {
    const hour = await firstHour(name)

    expect(hour.written).toMatchObject({ exit: 0, stderr: '' })
    expect(hour.source).toMatchObject(source)
    expect(hour.check?.stdout).toContain(read)
    expect(hour.check?.exit).toBe(exit)
  })
})

describe('open questions are printed with what to do', () => {
  test.each([
    ['zero-dates', 'Status', 1, 39],
    ['frappe-hr', 'Status', 4, 36],
  ])('%s: a status that may mean left or on leave is in no list, and holds', async (name, column, open, others) => {
    const { written, source, check } = await firstHour(name)

    expect(written.stdout).toContain(`Inactive (${open})`)
    expect(JSON.stringify([source.status.leftWhen, source.status.employedWhen])).not.toMatch(/"inactive"/i)
    expect(check?.stdout).toContain(
      `${open + others} rows, ${open + others} records, 0 rejected, ${open} with a bad cell`,
    )
    expect(check?.stdout).toContain(`${column}: the status is listed neither in leftWhen nor in employedWhen`)
  })

  test('adp-row-per-position: dates that can be read in two ways are refused; then the main row of each person counts', async () => {
    const open = await firstHour('adp-row-per-position')
    const dated = await firstHour('adp-row-per-position', '--date-format', 'MM/dd/yyyy')

    expect(open.written).toMatchObject({ exit: 2, stderr: expect.stringContaining("use --date-format 'MM/dd/yyyy'") })
    expect(dated.source).toMatchObject({ scope: '`Primary Position` = "Yes"' })
    expect(dated.check).toMatchObject({ exit: 65, stdout: expect.stringContaining('40 records, 0 rejected') })
  })

  test('header-again-in-another-order: check refuses the line, and names what to do', async () => {
    const { written, check } = await firstHour('header-again-in-another-order')

    expect(written.stdout).toContain('Line 42 names the columns again')
    expect(check?.stdout).toContain('have the parts exported one by one')
    expect(check?.exit).not.toBe(0)
  })
})

test('a workbook is proposed with its sheet and its header, and check reads every row and every cell', async () => {
  const names = ['Employee ID', 'First Name', 'Last Name', 'Work Email', 'Hire Date', 'Termination Date']
  const person = (index: number) => {
    const line = index + 4
    const texts = [`First${index}`, `Last${index}`, `p${index}@example.com`].map((text, at) =>
      textCell(`${'BCD'.charAt(at)}${line}`, text),
    )
    const end = index === 3 ? `<c r="F${line}" s="2"><v>46000</v></c>` : ''
    return `<row r="${line}"><c r="A${line}" s="1"><v>${index}</v></c>${texts.join('')}<c r="E${line}" s="2"><v>${44000 + index}</v></c>${end}</row>`
  }
  const people = Array.from({ length: 20 }, (_, index) => person(index)).join('')
  const sheets = { Notes: rowOf(1, 'read me'), Leute: rowOf(1, 'Headcount') + rowOf(3, ...names) + people }
  const book = join(folder, 'people.xlsx')
  await writeFile(book, await workbookOf({ sheets, formats: ['00000', 'dd/mm/yyyy'] }))
  const out = join(folder, 'workbook.yaml')
  const options = ['--platform-url', host.platform.baseUrl, '--key-file', join(folder, 'key'), '--out', out]

  const unnamed = await call(['init', '--yes', '--source', book, ...options])
  const written = await call(['init', '--yes', '--source', book, '--sheet', 'Leute', ...options])
  const check = await checkOf(out)
  const { connections } = parse(await readFile(out, 'utf8'))

  expect(unnamed).toMatchObject({
    exit: 2,
    stderr: expect.stringContaining('has 2 sheets (Notes, Leute): say which one lists the people with --sheet'),
  })
  expect(written).toMatchObject({ exit: 0, stderr: '' })
  expect(written.stdout).toContain('people.xlsx: the sheet "Leute" with 6 columns, header in row 3; 20 rows checked')
  expect(connections.hr.source).toMatchObject({
    type: 'folder',
    format: 'xlsx',
    sheet: 'Leute',
    headerLine: 3,
    preset: 'generic',
  })
  expect(connections.hr.source).not.toHaveProperty('encoding')
  expect(check.stdout).toContain('people.xlsx: 20 rows, 20 records, 0 rejected, 0 with a bad cell')
})

describe('options', () => {
  const platformOptions = () => ['--platform-url', host.platform.baseUrl, '--key-file', join(folder, 'key')]
  const csv = async (name: string, text: string) => {
    await mkdir(join(folder, name), { recursive: true })
    await writeFile(join(folder, name, 'people.csv'), text)
    return ['--source', join(folder, name, 'people.csv'), '--out', join(folder, `${name}.yaml`)]
  }

  test('that say what a status means are refused where no column is one', async () => {
    const files = await csv('no-status', 'Worker ID,Email,Rank\n1,a@example.com,high\n2,b@example.com,low\n')

    const unnamed = await call(['init', '--yes', ...platformOptions(), ...files, '--left', 'low'])
    const named = await call([
      'init',
      '--yes',
      ...platformOptions(),
      ...files,
      '--left',
      'low',
      '--field',
      'status=Rank',
    ])

    expect(unnamed).toMatchObject({ exit: 2, stdout: '', stderr: expect.stringContaining('--field status=COLUMN') })
    expect(named).toMatchObject({ exit: 0, stderr: '' })
    const { connections } = parse(await readFile(join(folder, 'no-status.yaml'), 'utf8'))
    expect(connections.hr.source.status).toMatchObject({ column: 'Rank', leftWhen: expect.arrayContaining(['low']) })
  })

  test('name columns without the blanks, the case and the form of accents that the header has', async () => {
    const files = await csv(
      'blanks',
      'Worker ID,Email, RÔLE \n1,a@example.com,high\n2,b@example.com,low\n'.normalize('NFD'),
    )

    const named = await call([
      'init',
      '--yes',
      ...platformOptions(),
      ...files,
      '--field',
      'status=Rôle',
      '--left',
      'low',
    ])

    expect(named).toMatchObject({ exit: 0, stderr: '' })
  })

  test('are asked for where a column that is not read could say who has left', async () => {
    const files = await csv('gone', 'Worker ID,Email,Gone on\n1,a@example.com,\n2,b@example.com,2026-10-31\n')

    const open = await call(['init', '--yes', ...platformOptions(), ...files])
    const none = await call(['init', '--yes', ...platformOptions(), ...files, '--field', 'separatedAt='])

    expect(open).toMatchObject({ exit: 2, stderr: expect.stringContaining("--field 'separatedAt=Gone on'") })
    expect(none).toMatchObject({ exit: 0, stdout: expect.stringContaining('No column shows who has left.') })
  })

  test('are not needed for managers who are the key of nobody: init and check say so, with what to look at', async () => {
    const rows = Array.from({ length: 4 }, (_, at) => `${at},p${at}@example.com,Active,Ana Okoro`)
    const files = await csv('strangers', `Worker ID,Email,Status,Manager ID\n${rows.join('\n')}\n`)

    const written = await call(['init', '--yes', ...platformOptions(), ...files])
    const check = await checkOf(join(folder, 'strangers.yaml'))

    expect(written.stdout).toContain('4 of 4 managers in "Manager ID" are the key of nobody')
    expect(check.stdout).toContain('1 of 1 manager (column "Manager ID") is the key of nobody in the export')
    expect(check.stdout).not.toContain('Okoro')
  })

  test('are not needed for the name of later exports: a pattern is proposed where it matches no other file', async () => {
    const alone = await csv('alone', 'Worker ID,Email,Status\n1,a@example.com,Active\n')
    await csv('beside', 'Worker ID,Email,Status\n1,a@example.com,Active\n')
    await writeFile(join(folder, 'beside', 'people-2025.csv'), '')
    const beside = ['--source', join(folder, 'beside', 'people.csv'), '--out', join(folder, 'beside.yaml')]

    const written = await call(['init', '--yes', ...platformOptions(), ...alone])
    await call(['init', '--yes', ...platformOptions(), ...beside])

    expect(written.stdout).toContain('Exports: the newest file that matches alone/people{,[0-9]*,[-_. ][0-9]*}.csv')
    const { connections } = parse(await readFile(join(folder, 'alone.yaml'), 'utf8'))
    expect(connections.hr.source.path).toBe('alone/people{,[0-9]*,[-_. ][0-9]*}.csv')
    expect(await readFile(join(folder, 'beside.yaml'), 'utf8')).toContain('path: beside/people.csv\n')
  })
})
