import { buffer } from 'node:stream/consumers'
import { ZipFile } from 'yazl'
import {
  type Leaver,
  type LeaverPack,
  type LeaverReport,
  type LeaverSummary,
  leaverStates,
} from '../../contract/control/leavers.ts'
import { address } from '../../web/address.ts'
import { checkField, filterForm, textField } from '../../web/forms.ts'
import { type Html, html } from '../../web/html.ts'
import { card, heading } from '../../web/layout.ts'
import { badge } from '../../web/parts.ts'
import { formatSeconds } from '../../web/span.ts'
import { type Column, table } from '../../web/tables.ts'
import { day, formatInstant, number, pluralize } from '../../web/words.ts'
import { seesValues } from '../site/control.ts'
import type { Fields, PageContext, Site } from '../site/site.ts'
import { capital, connectionField, personCell } from '../site/words.ts'

const defaultDays = 90
/** Maximum number of departures on the page; the files have all of them. */
const maxShown = 200

/** The downloads of the report. */
const downloads = {
  'report.csv': { type: 'text/csv', description: 'a table for a spreadsheet' },
  'report.html': { type: 'text/html', description: 'a page to read and print' },
  'report.json': { type: 'application/json', description: 'for programs' },
  'leavers.zip': {
    type: 'application/zip',
    description: 'all of these files, the signed audit entries about these people, and how to verify them',
  },
} as const

/** Adds the page with the departures of a period, and its downloads. */
export function reportPages(site: Site): void {
  site.page('/reports', async (context, fields) => {
    const { control } = context
    const { connections } = await control.about({})
    const query = reportQuery(context, fields)
    const report = await control.reportLeavers({ query })
    const { connection = '', values } = query
    const { from, to } = report
    const content = html`${heading({ title: 'Reports', lead: 'Every departure whose last day is in a period: its state, and how long it took.' })}
${filterForm({
  action: '/reports',
  label: 'Period',
  part: 'report',
  all: null,
  fields: html`${textField({ name: 'from', label: 'From', type: 'date', value: from })}${textField({
    name: 'to',
    label: 'To',
    type: 'date',
    value: to,
  })}${connectionField(connections, connection)}${seesValues(context.caller) && checkField({ name: 'values', label: 'With names', checked: values })}`,
})}
<div id="report" class="live">
${card({ title: 'Summary', id: 'short', content: summariesTable(report) })}
${card({
  title: 'Download',
  id: 'downloads',
  content: html`<ul class="list">${Object.entries(downloads).map(
    ([name, { description }]) =>
      html`<li><a href="${address(`/reports/files/${name}`, { from, to, connection, values })}" download>${name}</a> <span class="hint">${description}</span></li>`,
  )}</ul>`,
})}
${card({
  title: html`Departures <span class="faint">${number(report.leavers.length)}</span>`,
  id: 'departures',
  content: html`${leaversTable(report.leavers.slice(0, maxShown))}${report.leavers.length > maxShown && html`<p class="hint">The first ${maxShown} are shown; the files have all of them.</p>`}`,
})}
</div>`
    return { title: 'Reports', content, section: 'reports' }
  })

  site.file('/reports/files/:name', async (context, fields) => {
    const name = fields('name')
    if (!Object.hasOwn(downloads, name)) return null
    const { type } = downloads[name as keyof typeof downloads]
    const { files } = await context.control.packLeavers({ query: reportQuery(context, fields) })
    if (name === 'leavers.zip') return { name, type, content: await zip(files) }
    const file = files.find((one) => one.name === name)
    return file ? { name, type, content: Buffer.from(file.content, file.encoding) } : null
  })
}

async function zip(files: LeaverPack['files']): Promise<Buffer> {
  const archive = new ZipFile()
  for (const { name, content, encoding } of files) archive.addBuffer(Buffer.from(content, encoding), name)
  archive.end()
  return await buffer(archive.outputStream)
}

/** The period and connection from the address; by default the last ninety days until today, which the API knows. */
function reportQuery({ caller, now }: PageContext, fields: Fields) {
  const today = Temporal.Instant.from(now.toISOString()).toZonedDateTimeISO('UTC').toPlainDate()
  const connection = fields('connection')
  return {
    from: fields('from') || today.subtract({ days: defaultDays }).toString(),
    ...(fields('to') && { to: fields('to') }),
    ...(connection && { connection }),
    values: fields('values') !== '' && seesValues(caller),
  }
}

function summariesTable({ connections }: LeaverReport): Html {
  const columns: readonly Column<LeaverSummary>[] = [
    {
      name: 'Connection',
      kind: 'row',
      cell: ({ connection, timeZone }) => html`${connection} <span class="hint">${timeZone}</span>`,
    },
    { name: 'Departures', kind: 'figure', cell: ({ people }) => number(people) },
    { name: 'Acknowledged', kind: 'figure', cell: ({ acknowledged }) => number(acknowledged) },
    { name: 'Effective', kind: 'figure', cell: ({ effective }) => number(effective) },
    {
      name: 'Late',
      kind: 'figure',
      cell: ({ late, lateOpen, boundHours }) =>
        html`${number(late)}${lateOpen > 0 && html` ${badge(`${lateOpen} still open`, 'bad')}`} <span class="hint">over ${boundHours} h</span>`,
    },
    { name: 'Undone', kind: 'figure', cell: ({ takenBack }) => number(takenBack) },
    { name: 'In held plans', kind: 'figure', cell: ({ held }) => number(held) },
    {
      name: 'Processing time',
      kind: 'figure',
      cell: ({ ourSeconds }) =>
        ourSeconds &&
        html`half within ${formatSeconds(ourSeconds.p50)} <span class="hint">95 % within ${formatSeconds(ourSeconds.p95)}</span>`,
    },
  ]
  return table({
    caption: 'Departures by connection',
    columns,
    rows: connections,
    empty: html`There is no connection yet. <a href="/">Create the first one</a>`,
  })
}

function leaversTable(leavers: readonly Leaver[]): Html {
  const columns: readonly Column<Leaver>[] = [
    { name: 'Person', kind: 'row', cell: personCell },
    {
      name: 'Last day',
      cell: ({ effectiveOn, inferred }) =>
        html`${day(effectiveOn)}${inferred && html` <span class="hint">inferred</span>`}`,
    },
    {
      name: 'State',
      kind: 'long',
      cell: ({ state, late }) => html`${late && html`${badge('Late', 'bad')} `}${capital(leaverStates[state])}`,
    },
    { name: 'Acknowledged', cell: ({ acknowledgedAt }) => acknowledgedAt !== null && formatInstant(acknowledgedAt) },
    {
      name: 'Processing time',
      kind: 'figure',
      cell: ({ ourSeconds }) => ourSeconds !== null && formatSeconds(ourSeconds),
    },
  ]
  const caption = `${pluralize(leavers.length, 'departure')} by connection, last day and key`
  return table({
    caption,
    columns,
    rows: leavers,
    empty:
      'Nobody’s last day is in this period. A departure is listed from the last day on, with the times an auditor needs: when HR stated it, and when the platform acknowledged it.',
  })
}
