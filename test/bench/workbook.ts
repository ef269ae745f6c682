import { execFile } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ZipFile } from 'yazl'
import { temporaryFolder } from '../helpers/sources/folders.ts'
import { sheetOf, workbookParts } from '../helpers/sources/workbooks.ts'
import { Watched } from './tasks.ts'

const run = promisify(execFile)
const headers = [
  'Employee ID',
  'First Name',
  'Last Name',
  'Email',
  'Job Title',
  'Department',
  'Manager ID',
  'Start Date',
  'Termination Date',
  'Status',
]
const formats = ['00000', 'yyyy-mm-dd']
const firstDay = 36_526
const firstDayMs = Date.UTC(2000, 0, 1)
const dayMs = 86_400_000

/** A workbook with shared or inline strings, and the CSV of the same rows. */
export type ReadWorkbook = { readonly strings: 'shared' | 'inline'; readonly workbook: Watched; readonly csv: Watched }

/** Reads workbooks of the given numbers of people, and their CSV. */
export async function measureWorkbooks(people: number): Promise<ReadWorkbook[]> {
  await using folder = await temporaryFolder()
  const csvFile = join(folder.path, 'people.csv')
  await pipeline(Readable.from(csvLines(people)), createWriteStream(csvFile))
  const results: ReadWorkbook[] = []
  for (const strings of ['shared', 'inline'] as const) {
    process.stderr.write(`${people} people in ${strings} strings …\n`)
    const file = join(folder.path, `${strings}.xlsx`)
    await writeWorkbook(file, people, strings === 'shared')
    const [workbook, csv] = [await measureTask(file, 'xlsx'), await measureTask(csvFile, 'csv')]
    if (workbook.count !== people || csv.count !== people) throw new Error(`not ${people} rows were read`)
    results.push({ strings, workbook, csv })
  }
  return results
}

async function measureTask(file: string, format: string): Promise<Watched> {
  const task = fileURLToPath(new URL('task-export.ts', import.meta.url))
  const { stdout } = await run(process.execPath, [task, file, format])
  return Watched.parse(JSON.parse(stdout))
}

/** The texts of a person, and the days that they started and left, counted from 2000. */
function personAt(index: number) {
  const hasLeft = index % 10 === 0
  return {
    id: index + 1,
    texts: [
      `First${index % 5000}`,
      `Last${index % 9000}`,
      `person${index}@example.com`,
      `Title ${index % 50}`,
      `Department ${index % 20}`,
    ],
    manager: Math.floor(index / 10) + 1,
    start: index % 9000,
    end: hasLeft ? 9500 + (index % 200) : null,
    status: hasLeft ? 'Terminated' : 'Active',
  }
}

function* csvLines(people: number): Generator<string> {
  yield `${headers.join(',')}\n`
  const key = (id: number) => String(id).padStart(5, '0')
  const day = (days: number) => new Date(firstDayMs + days * dayMs).toISOString().slice(0, 10)
  for (let index = 0; index < people; index += 1) {
    const { id, texts, manager, start, end, status } = personAt(index)
    yield `${[key(id), ...texts, key(manager), day(start), end === null ? '' : day(end), status].join(',')}\n`
  }
}

async function writeWorkbook(file: string, people: number, isShared: boolean): Promise<void> {
  const zip = new ZipFile()
  const strings = new Map<string, number>()
  const sheetParts = sheetOf('|').split('|')
  const parts = workbookParts({ strings: isShared ? [] : undefined, formats })
  for (const [name, text] of Object.entries(parts)) {
    if (!name.endsWith('sheet1.xml') && !name.endsWith('sharedStrings.xml')) zip.addBuffer(Buffer.from(text), name)
  }
  const cell = (column: string, line: number, text: string) => {
    if (!isShared) return `<c r="${column}${line}" t="inlineStr"><is><t>${text}</t></is></c>`
    return `<c r="${column}${line}" t="s"><v>${strings.getOrInsertComputed(text, () => strings.size)}</v></c>`
  }
  function* sheet(): Generator<string> {
    yield `${sheetParts[0]}<row r="1">${headers.map((text, index) => cell(String.fromCharCode(65 + index), 1, text)).join('')}</row>`
    for (let index = 0; index < people; index += 1) {
      const { id, texts, manager, start, end, status } = personAt(index)
      const line = index + 2
      const number = (column: string, value: number, style: number) =>
        `<c r="${column}${line}" s="${style}"><v>${value}</v></c>`
      const leaving = end === null ? '' : number('I', firstDay + end, 2)
      yield `<row r="${line}">${number('A', id, 1)}${texts.map((text, at) => cell('BCDEF'.charAt(at), line, text)).join('')}${number('G', manager, 1)}${number('H', firstDay + start, 2)}${leaving}${cell('J', line, status)}</row>`
    }
    yield sheetParts[1] ?? ''
  }
  zip.addReadStream(Readable.from(sheet()), 'xl/worksheets/sheet1.xml')
  // Added after the sheet, whose cells number them.
  if (isShared)
    zip.addReadStreamLazy('xl/sharedStrings.xml', {}, (done) => done(null, Readable.from(stringsXml(strings))))
  zip.end()
  await pipeline(zip.outputStream, createWriteStream(file))
}

function* stringsXml(strings: ReadonlyMap<string, number>): Generator<string> {
  yield '<sst>'
  for (const text of strings.keys()) yield `<si><t>${text}</t></si>`
  yield '</sst>'
}
