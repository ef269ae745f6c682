import { z } from 'zod'
import { Failure } from '../../errors.ts'
import { type GivenList, type Head, type ListStart, refuseReferences, requireSettings } from '../discovery.ts'
import { exportFormat } from '../file/format.ts'
import { isLikeJson } from '../file/other-text.ts'
import { notUtf8, pointer, readJson } from '../json/cells.ts'
import { closedJson } from '../json/closed-json.ts'
import { findList, isRecords } from '../json/find-list.ts'
import { checkJsonLines, endOfText } from '../json/read-list.ts'
import { tableOfRecords } from '../json/table-of-records.ts'

/** The settings that read the list in a JSON file. */
export type ListSettings = {
  readonly format: 'json'
  readonly records?: string
  readonly ignoredStatements?: readonly string[]
}

/** What an export begins with, and the settings that this shows. */
type ExportStart =
  | { readonly head: Head; readonly settings: Readonly<Record<string, never>> }
  | { readonly list: ListStart; readonly settings: ListSettings }

/** The list of records of a JSON file as a person chose it, and how messages say to choose another one. */
type RecordsChoice = GivenList & { readonly recordsHelp: (pointer: string) => string }

const smallerFile = 'look at a smaller file of the same form'
const GivenStatements = z.object({ ignoredStatements: exportFormat.ignoredStatements })

/** Finds the list of records in a JSON file. Any other export stays as it is. Refuses a JSON file without a list of records. */
export function exportStart(head: Head, { records, ignoredStatements, recordsHelp }: RecordsChoice): ExportStart {
  const { name, bytes, isWhole, isWorkbook } = head
  const isJson = !isWorkbook && isLikeJson(bytes.toString('utf8', 0, 1024))
  if (!isWorkbook && isUtf16Json(bytes.subarray(0, 1024))) throw notUtf8(name)
  if (!isJson && (records ?? ignoredStatements) !== undefined)
    throw new Failure('usage', `${name} is no JSON, and has no list of records to choose`)
  if (!isJson) return { head, settings: {} }
  checkJsonLines(bytes, name)
  const content = readJson(isWhole ? bytes : closedJson(bytes, name), { name, sizeHelp: smallerFile })
  const path = findList(content, { label: name, chosen: records, help: recordsHelp })
  const people = pointer(content, path)
  if (!isRecords(people)) throw new Error('the list that was found holds no records')
  const given = requireSettings(GivenStatements.safeParse({ ignoredStatements: ignoredStatements?.split(/\s*,\s*/) }))
  const settings = {
    format: 'json',
    ...(path !== '' && { records: path }),
    ...(given.ignoredStatements && { ignoredStatements: given.ignoredStatements }),
  } as const
  refuseReferences(settings, name)
  const table = tableOfRecords(people, name)
  const end = isWhole ? endOfText(content, { records: path, ...settings }, people.length) : null
  const notes = [
    ...table.notes,
    ...(end?.problem ? [`A run refuses the file: ${end.problem}: ${end.help}.`] : []),
    'Rollcall cannot tell whether the list includes people who have left. Check that it contains one of them.',
  ]
  return { list: { name, ...table, isWhole: isWhole && table.isWhole, notes }, settings }
}

function isUtf16Json(start: Buffer): boolean {
  const text = start.filter((byte) => byte !== 0)
  return (
    text.length < start.length &&
    isLikeJson(
      Buffer.from(text)
        .toString('latin1')
        .replace(/^(?:\xff\xfe|\xfe\xff)/, ''),
    )
  )
}
