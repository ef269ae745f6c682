import { unreadable } from '../file/failures.ts'
import type { Archive } from './archive.ts'
import { builtInFormat, type NumberFormat, parseNumberFormat } from './number-formats.ts'
import { readSmallXml } from './xml.ts'

const maxStyles = 100_000
/** Excel refuses longer ones. */
const maxFormatCharacters = 255

/** The number format of each style that cells refer to by its number. */
export type Styles = readonly NumberFormat[]

/** Reads the styles of a workbook. Only their number formats change what a cell says. Refuses more, or longer ones, than Excel knows. */
export async function readStyles(archive: Archive, part: string): Promise<Styles> {
  const { name } = archive
  const codes = new Map<string, string>()
  const ids: string[] = []
  let isInCellFormats = false
  await readSmallXml(archive.read(part), {
    name,
    part,
    handler: {
      open(tag, { numFmtId = '0', formatCode = '' }, depth) {
        if (depth === 2) isInCellFormats = tag === 'cellXfs'
        if (depth !== 3) return
        if (formatCode.length > maxFormatCharacters || codes.size > maxStyles || ids.length > maxStyles)
          throw unreadable(
            `${name} is a workbook whose part ${part} is damaged (too many or too long number formats)`,
            'have it saved and sent again',
          )
        if (tag === 'numFmt') codes.set(numFmtId, formatCode)
        if (tag === 'xf' && isInCellFormats) ids.push(numFmtId)
      },
      close() {},
    },
  })
  const formats = new Map<string, NumberFormat>()
  return ids.map((id) =>
    formats.getOrInsertComputed(id, () => {
      const code = codes.get(id)
      return code === undefined ? builtInFormat(Number(id)) : parseNumberFormat(code)
    }),
  )
}
