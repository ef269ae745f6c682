import type { Archive } from './archive.ts'
import { builtInFormat, type NumberFormat, parseNumberFormat } from './number-formats.ts'
import { readSmallXml } from './xml.ts'

const maxStyles = 100_000

/** The number format of each style that cells refer to by its number. */
export type Styles = readonly NumberFormat[]

/** Reads the styles of a workbook. Only their number formats change what a cell says. */
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
        if (tag === 'numFmt' && codes.size < maxStyles) codes.set(numFmtId, formatCode)
        if (tag === 'xf' && isInCellFormats && ids.length < maxStyles) ids.push(numFmtId)
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
