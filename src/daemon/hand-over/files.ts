import type { HandOver, HandOverFormat } from '../../contract/control/hand-over.ts'
import { handOverCsv } from './csv.ts'
import { handOverPage } from './page.ts'
import { handOverWorkbook } from './workbook.ts'

type Renderer = {
  readonly type: string
  readonly render: (list: HandOver) => Promise<Buffer>
}

/** Each file format of the hand-over. All of them hold the same rows. */
const renderers: Readonly<Record<HandOverFormat, Renderer>> = {
  csv: { type: 'text/csv', render: async (list) => Buffer.from(handOverCsv(list)) },
  html: { type: 'text/html', render: async (list) => Buffer.from(handOverPage(list)) },
  xlsx: { type: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', render: handOverWorkbook },
}

/** The list as a file to save or to attach. */
export async function handOverFile(
  list: HandOver,
  format: HandOverFormat,
): Promise<{ readonly name: string; readonly type: string; readonly content: Buffer }> {
  const { type, render } = renderers[format]
  return { name: `hr-corrections-${list.madeAt.slice(0, 10)}.${format}`, type, content: await render(list) }
}
