import type { ScheduleView } from '../../contract/control/schedules.ts'
import { actionLink, textField } from '../../web/forms.ts'
import { html } from '../../web/html.ts'
import { card, heading } from '../../web/layout.ts'
import { badge, definitions } from '../../web/parts.ts'
import { formatInstant, formatRelativeTime, instantText, number, pluralize } from '../../web/words.ts'
import type { SharedContext, Site } from '../site/site.ts'
import { reasonField } from '../site/words.ts'

const purposes: Readonly<Record<ScheduleView['purpose'], string>> = {
  read: 'Reads the source',
  verify: 'Verifies the records on the platform',
  sample: 'Verifies leavers and a sample of other people',
}

/** Adds the page of schedules, and the actions to pause a connection and to end the pause. */
export function schedulePages(site: Site): void {
  site.sharedPage('/schedules', async (context) => {
    const { control } = context
    const { data } = await control.listSchedules({ query: {} })
    const byConnection = [...Map.groupBy(data, ({ connection }) => connection)]
    const content = html`${heading({ title: 'Schedules', lead: 'The schedules of each connection, and the next ten times of each.' })}
${byConnection.length === 0 && html`<p class="empty" role="status">No connection has a schedule: runs start when a file or an event arrives, or when somebody starts one. <a href="/docs/configure#schedule">How to read HR every night</a></p>`}
${byConnection.map(([connection, schedules]) => connectionCard(connection, schedules, context))}`
    return { title: 'Schedules', content, section: 'schedules' }
  })

  site.action('/schedules/:connection/pause', {
    section: 'schedules',
    operation: 'pauseConnection',
    ask: async (_context, fields) => ({
      title: `Pause ${fields('connection')}?`,
      explanation: html`<p>No schedule, watched folder or event starts a run until the pause ends. People can still start runs, and deliveries continue.</p>
<p>Missed runs are made up for when the pause ends.</p>`,
      fields: html`${reasonField(fields)}${textField({
        name: 'until',
        label: 'Until',
        hint: 'A day, or a day and a time such as 2026-12-31T06:00, in the time zone of the schedule. Leave it empty to pause until somebody ends the pause.',
        value: fields('until'),
        maxLength: 40,
      })}`,
      button: `Pause ${fields('connection')}`,
      cancel: '/schedules',
    }),
    perform: async ({ control }, fields) => {
      const [connection, until, reason] = [fields('connection'), fields('until'), fields('reason')]
      const { paused } = await control.pauseConnection({
        params: { connection },
        body: { reason, ...(until && { until }) },
      })
      const end = paused?.until ?? null
      return {
        to: '/schedules',
        done: `${connection} is paused${end === null ? ' until somebody ends the pause' : ` until ${instantText(end)}`}.`,
      }
    },
  })

  site.action('/schedules/:connection/pause/end', {
    section: 'schedules',
    operation: 'resumeConnection',
    ask: async (_context, fields) => ({
      title: `End the pause of ${fields('connection')}?`,
      explanation: html`<p>Schedules, watched folders and events start runs again. Missed runs are made up for at once.</p>`,
      button: 'End the pause',
      cancel: '/schedules',
    }),
    perform: async ({ control }, fields) => {
      const connection = fields('connection')
      await control.resumeConnection({ params: { connection }, body: {} })
      return { to: '/schedules', done: `The pause of ${connection} has ended.` }
    },
  })
}

function connectionCard(connection: string, schedules: readonly ScheduleView[], { now, notAllowed }: SharedContext) {
  const paused = schedules[0]?.paused ?? null
  const at = `/schedules/${encodeURIComponent(connection)}/pause`
  return card({
    title: html`${connection}${paused !== null && html` ${badge('Paused', 'wait')}`}`,
    id: connection,
    ...(paused !== null && { tone: 'wait' as const }),
    aside:
      paused === null
        ? actionLink({
            href: at,
            name: 'Pause',
            label: `Pause ${connection}`,
            notAllowed: notAllowed('pauseConnection'),
          })
        : actionLink({
            href: `${at}/end`,
            name: 'End the pause',
            label: `End the pause of ${connection}`,
            notAllowed: notAllowed('resumeConnection'),
          }),
    content: html`${
      paused !== null &&
      html`<p>${paused.by} paused it ${formatRelativeTime(paused.since, now)}${paused.until === null ? ', until somebody ends the pause' : html`, until ${formatInstant(paused.until)}`}: ${paused.reason}</p>`
    }
<div class="columns three">${schedules.map(
      ({
        purpose,
        cron,
        timeZone,
        jitterMinutes,
        blackouts,
        next,
      }) => html`<div class="group"><h3>${purposes[purpose]}</h3>
${definitions([
  ['When', html`<code>${cron}</code> in ${timeZone}`],
  ['Random delay', jitterMinutes > 0 && `up to ${pluralize(jitterMinutes, 'minute')}`],
  ['Blackout windows', blackouts > 0 && number(blackouts)],
])}
${next.length === 0 ? html`<p class="empty">No run is scheduled.</p>` : html`<ol class="list">${next.map((time) => html`<li>${formatInstant(time)} <span class="hint">${formatRelativeTime(time, now)}</span></li>`)}</ol>`}</div>`,
    )}</div>`,
  })
}
