import { writeFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import { ZipFile } from 'yazl'
import type { LeaverPack } from '../../contract/control/leavers.ts'
import { leaversCsv } from '../../daemon/reports/leavers-csv.ts'
import { leaversPage } from '../../daemon/reports/leavers-page.ts'
import { errorCode, Failure } from '../../errors.ts'
import { standardOutput } from '../../text/print.ts'
import { jsonText } from '../../text/visible.ts'
import { renderLeaverReport } from '../render/leavers.ts'
import { type CommonOptions, withSession } from '../session.ts'

export type ReportFormat = 'csv' | 'json' | 'html'
export type ReportLeaversOptions = CommonOptions & {
  readonly from?: string
  readonly to?: string
  readonly format?: ReportFormat
  readonly out?: string
  readonly pack?: string
  readonly showValues?: boolean
}

const defaultDays = 90

/** Reports on the departures of a period: in short on a terminal, or whole in a format of its own. */
export async function reportLeavers(options: ReportLeaversOptions): Promise<number> {
  const { from, to } = periodOf(options)
  const { pack } = options
  if (pack !== undefined) return await packLeavers({ ...options, pack }, { from, to })
  const { format = options.out?.match(/\.(csv|json|html)$/)?.[1] as ReportFormat | undefined, out } = options
  return await withSession(options, { looks: true }, async ({ control, output }) => {
    // Who names a file, or asks for JSON, has a place for values; a terminal has one too.
    const values = out === undefined ? output.mayShowValues(options) : (options.showValues ?? false)
    const report = await control.reportLeavers({ query: { from, to, connection: options.connection, values } })
    const whole = { csv: leaversCsv, html: leaversPage, json: jsonText }
    if (out !== undefined) {
      await writeReport(out, whole[format ?? 'json'](report))
      output.note(`${report.leavers.length} departures from ${from} to ${to} are in ${out}`)
      if (options.json) output.result({ file: out, leavers: report.leavers.length }, String)
    } else if (format === undefined || options.json) output.result(report, renderLeaverReport)
    else standardOutput.print(whole[format](report))
    return 0
  })
}

/** Writes the report with what proves it as one zip. */
async function packLeavers(
  options: ReportLeaversOptions & { readonly pack: string },
  period: { from: string; to: string },
): Promise<number> {
  const { pack: file, connection, showValues: values = false } = options
  if (options.out !== undefined || options.format !== undefined)
    throw new Failure('usage', '--pack holds every format: leave out --out and --format')
  return await withSession(options, { looks: true }, async ({ control, output }) => {
    const { files, leavers } = await control.packLeavers({ query: { ...period, connection, values } })
    await writeReport(file, await zip(files))
    output.result(
      { file, leavers },
      () => `${leavers} departures from ${period.from} to ${period.to} are in ${file}, signed`,
    )
    return 0
  })
}

async function zip(files: LeaverPack['files']): Promise<Buffer> {
  const archive = new ZipFile()
  for (const { name, content, encoding } of files) archive.addBuffer(Buffer.from(content, encoding), name)
  archive.end()
  return await buffer(archive.outputStream)
}

/** The period that the options name; the last ninety days where they name none. */
function periodOf(options: ReportLeaversOptions): { from: string; to: string } {
  const to = dayOf('--to', options.to) ?? Temporal.Now.plainDateISO('UTC')
  const from = dayOf('--from', options.from) ?? to.subtract({ days: defaultDays })
  if (Temporal.PlainDate.compare(from, to) > 0)
    throw new Failure('usage', `the period ends before it begins: ${from} to ${to}`)
  return { from: from.toString(), to: to.toString() }
}

function dayOf(option: string, text: string | undefined): Temporal.PlainDate | null {
  if (text === undefined) return null
  try {
    if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return Temporal.PlainDate.from(text, { overflow: 'reject' })
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
  }
  throw new Failure('usage', `${option} takes a day such as 2026-01-31, not "${text}"`)
}

/** Only its owner may read what is about people. */
async function writeReport(file: string, content: string | Uint8Array): Promise<void> {
  try {
    await writeFile(file, content, { mode: 0o600 })
  } catch (error) {
    throw new Failure('usage', `${file} cannot be written (${errorCode(error)})`, { cause: error })
  }
}
