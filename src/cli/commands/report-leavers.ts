import { buffer } from 'node:stream/consumers'
import { ZipFile } from 'yazl'
import type { LeaverPack } from '../../contract/control/leavers.ts'
import { leaversCsv } from '../../daemon/reports/leavers-csv.ts'
import { leaversPage } from '../../daemon/reports/leavers-page.ts'
import { Failure } from '../../errors.ts'
import { jsonText } from '../../text/escape.ts'
import { standardOutput } from '../../text/print.ts'
import { renderLeaverReport } from '../render/leavers.ts'
import { pluralize } from '../render/text.ts'
import { parseDay } from '../session/dates.ts'
import { writePrivateFile } from '../session/private-file.ts'
import { type CommonOptions, withSession } from '../session/session.ts'

/** A file format of the report. */
export type ReportFormat = 'csv' | 'json' | 'html'
/** The options of `rollcall report leavers`. */
export type ReportLeaversOptions = CommonOptions & {
  readonly from?: string
  readonly to?: string
  readonly format?: ReportFormat
  readonly out?: string
  readonly pack?: string
  readonly showValues?: boolean
}

const defaultDays = 90

/** Reports on the departures of a period: a summary on a terminal, or the full report in a file format. */
export async function reportLeavers(options: ReportLeaversOptions): Promise<number> {
  const period = periodOf(options)
  const { pack } = options
  if (pack !== undefined) return await packLeavers({ ...options, pack }, period)
  const { out } = options
  const format = options.format ?? formatOf(out)
  return await withSession(options, { isReadOnly: true }, async ({ control, output }) => {
    // A file may always hold values; on standard output, the session decides.
    const values = out === undefined ? output.mayShowValues(options) : (options.showValues ?? false)
    const report = await control.reportLeavers({ query: { ...period, connection: options.connection, values } })
    const whole = { csv: leaversCsv, html: leaversPage, json: jsonText }
    if (out !== undefined) {
      await writePrivateFile(out, whole[format ?? 'json'](report))
      output.printMessage(renderWritten(report.leavers.length, report, out))
      if (options.json) output.printResult({ file: out, leavers: report.leavers.length }, String)
    } else if (format === undefined || options.json) output.printResult(report, renderLeaverReport)
    else standardOutput.print(whole[format](report))
    return 0
  })
}

function renderWritten(leavers: number, { from, to = 'today' }: Period, file: string): string {
  return `${pluralize(leavers, 'departure')} from ${from} to ${to} ${leavers === 1 ? 'is' : 'are'} in ${file}`
}

/** The format that the ending of a file names. */
function formatOf(out: string | undefined): ReportFormat | undefined {
  if (out === undefined) return undefined
  const ending = /\.(csv|json|html)$/i.exec(out)?.[1]?.toLowerCase()
  if (ending === undefined)
    throw new Failure('usage', `${out} names no format: end it with .csv, .json or .html, or give --format`)
  return ending as ReportFormat
}

/** Writes the report and its proofs as one zip. */
async function packLeavers(options: ReportLeaversOptions & { readonly pack: string }, period: Period): Promise<number> {
  const { pack: file, connection, showValues: values = false } = options
  if (options.out !== undefined || options.format !== undefined)
    throw new Failure('usage', '--pack contains every format: remove --out and --format')
  return await withSession(options, { isReadOnly: true }, async ({ control, output }) => {
    const { files, leavers } = await control.packLeavers({ query: { ...period, connection, values } })
    await writePrivateFile(file, await zip(files))
    output.printResult({ file, leavers }, () => `${renderWritten(leavers, period, file)}, signed`)
    return 0
  })
}

async function zip(files: LeaverPack['files']): Promise<Buffer> {
  const archive = new ZipFile()
  for (const { name, content, encoding } of files) archive.addBuffer(Buffer.from(content, encoding), name)
  archive.end()
  return await buffer(archive.outputStream)
}

type Period = { readonly from: string; readonly to?: string }

/** The period that the options name; by default the last ninety days until today in the time zone of the source, which the daemon knows. */
function periodOf(options: ReportLeaversOptions): Period {
  const to = options.to === undefined ? undefined : parseDay('--to', options.to)
  const end = to ?? Temporal.Now.plainDateISO('UTC')
  const from = options.from === undefined ? end.subtract({ days: defaultDays }) : parseDay('--from', options.from)
  // Today there may be a day later than this one.
  if (Temporal.PlainDate.compare(from, to ?? end.add({ days: 1 })) > 0)
    throw new Failure('usage', `the period ends before it begins: ${from} to ${end}`)
  return { from: from.toString(), ...(to !== undefined && { to: to.toString() }) }
}
