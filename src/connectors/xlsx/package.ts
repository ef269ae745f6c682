import { resolve } from 'node:path/posix'
import { unreadable } from '../file/failures.ts'
import type { Archive } from './archive.ts'
import { prefixedAttribute, readSmallXml } from './xml.ts'

const contentTypesPart = '[Content_Types].xml'
const usualWorkbookPart = 'xl/workbook.xml'
const maxSheets = 10_000

/** A worksheet of a workbook. Sheets of charts and dialogs have no rows and are not listed. `number`: which one it is of all sheets, from 1. */
export type Sheet = { readonly name: string; readonly part: string; readonly number: number }

/** The parts of a workbook that its rows are read from. */
export type Workbook = {
  readonly sheets: readonly Sheet[]
  readonly sharedStrings: string | null
  readonly styles: string | null
  /** Whether days are counted from 1904, as Excel for the Mac once did, and not from 1900. */
  readonly isFrom1904: boolean
  /** Whether the writer did not calculate the formulas, and leaves that to the program that opens the workbook. */
  readonly isUncalculated: boolean
}

/** Archives that are not .xlsx workbooks: a part that reveals the format, and advice. */
const otherArchives = [
  {
    part: 'xl/vbaproject.bin',
    problem: 'is a workbook with macros (.xlsm)',
    help: 'have it saved as .xlsx, without macros',
  },
  { part: 'xl/workbook.bin', problem: 'is a binary workbook (.xlsb)', help: 'have it saved as .xlsx' },
  { part: 'content.xml', problem: 'is a sheet of OpenDocument (.ods)', help: 'have it saved as .xlsx' },
  { part: 'index/document.iwa', problem: 'is a sheet of Apple Numbers', help: 'have it exported as .xlsx' },
  { part: 'word/document.xml', problem: 'is a Word document', help: 'have the list saved as .xlsx' },
] as const

/** Workbooks that are not read: a pattern that their content type matches, and advice. */
const otherTypes = [
  {
    pattern: /macroEnabled/i,
    problem: 'is a workbook with macros (.xlsm)',
    help: 'have it saved as .xlsx, without macros',
  },
  { pattern: /template/i, problem: 'is a template of a workbook (.xltx)', help: 'have it saved as .xlsx' },
] as const

/** Finds the sheets of a workbook and what their cells refer to. Refuses an archive that is something else. */
export async function readWorkbook(archive: Archive): Promise<Workbook> {
  const { name } = archive
  const other = otherArchives.find((each) => archive.has(each.part))
  if (other) throw unreadable(`${name} ${other.problem}`, other.help)
  if (!archive.has(contentTypesPart))
    throw unreadable(
      `${name} is a zip, and no workbook itself`,
      'write compression: zip if a workbook is packed in it, or have the workbook sent as it is',
    )
  const part = await workbookPart(archive)
  await checkContentType(archive, part)
  const { sheets, ...properties } = await readSheetNames(archive, part)
  const relations = await readRelations(archive, part)
  const ofType = (type: string) => relations.values().find((one) => one.type === type)?.target ?? null
  const worksheets = sheets.flatMap(({ name: sheet, id }, index) => {
    // Excel keeps the modules of old workbooks as sheets without a part.
    if (id === '') return []
    const relation = relations.get(id ?? '')
    if (!relation) throw unreadable(`${name} is a damaged workbook that lacks one of its sheets`, 'have it saved again')
    return relation.type === 'worksheet' ? [{ name: sheet, part: relation.target, number: index + 1 }] : []
  })
  if (worksheets.length === 0) throw unreadable(`${name} is a workbook without a sheet`, 'check the export')
  return { sheets: worksheets, sharedStrings: ofType('sharedStrings'), styles: ofType('styles'), ...properties }
}

async function workbookPart(archive: Archive): Promise<string> {
  const relations = await readRelations(archive, '')
  return relations.values().find(({ type }) => type === 'officeDocument')?.target ?? usualWorkbookPart
}

async function checkContentType(archive: Archive, workbook: string): Promise<void> {
  const { name } = archive
  const extension = workbook.slice(workbook.lastIndexOf('.') + 1).toLowerCase()
  let ofExtension = ''
  let ofPart = ''
  await readSmallXml(archive.read(contentTypesPart), {
    name,
    part: contentTypesPart,
    handler: {
      open(tag, { PartName = '', Extension = '', ContentType = '' }) {
        if (tag === 'Override' && PartName.toLowerCase() === `/${workbook}`.toLowerCase()) ofPart = ContentType
        if (tag === 'Default' && Extension.toLowerCase() === extension) ofExtension = ContentType
      },
      close() {},
    },
  })
  const type = ofPart || ofExtension
  const other = otherTypes.find(({ pattern }) => pattern.test(type))
  if (other) throw unreadable(`${name} ${other.problem}`, other.help)
  if (/spreadsheetml\.sheet\.main\+xml$/i.test(type)) return
  throw unreadable(`${name} is no Excel workbook (.xlsx) but another document`, 'have the list saved as .xlsx')
}

type NamedSheet = { readonly name: string; readonly id: string | undefined }

async function readSheetNames(archive: Archive, part: string) {
  const sheets: NamedSheet[] = []
  let isFrom1904 = false
  let isUncalculated = false
  await readSmallXml(archive.read(part), {
    name: archive.name,
    part,
    handler: {
      open(tag, attributes, depth) {
        if (depth === 2 && tag === 'workbookPr') isFrom1904 = isTrue(attributes.date1904)
        if (depth === 2 && tag === 'calcPr') isUncalculated = isTrue(attributes.fullCalcOnLoad)
        if (depth !== 3 || tag !== 'sheet') return
        sheets.push({ name: attributes.name ?? '', id: prefixedAttribute(attributes, 'id') })
        if (sheets.length > maxSheets)
          throw unreadable(`${archive.name} is a workbook with more than ${maxSheets} sheets`, 'check the export')
      },
      close() {},
    },
  })
  return { sheets, isFrom1904, isUncalculated }
}

function isTrue(attribute = ''): boolean {
  return /^(?:1|true|on)$/.test(attribute)
}

/** `type`: the last part of the type's address, such as `worksheet`. The addresses of the two editions of the standard differ. */
type Relation = { readonly type: string; readonly target: string }

/** The relations of a part by their identifiers; those of the archive itself if `part` is empty. */
async function readRelations(archive: Archive, part: string): Promise<ReadonlyMap<string, Relation>> {
  const slash = part.lastIndexOf('/')
  const folder = part.slice(0, slash + 1)
  const relationsPart = `${folder}_rels/${part.slice(slash + 1)}.rels`
  const relations = new Map<string, Relation>()
  if (!archive.has(relationsPart)) return relations
  await readSmallXml(archive.read(relationsPart), {
    name: archive.name,
    part: relationsPart,
    handler: {
      open(tag, { Id = '', Type = '', Target = '', TargetMode = 'Internal' }) {
        if (tag !== 'Relationship' || TargetMode !== 'Internal') return
        const type = Type.slice(Type.lastIndexOf('/') + 1)
        relations.set(Id, { type, target: resolve(`/${folder}`, Target).slice(1) })
      },
      close() {},
    },
  })
  return relations
}
