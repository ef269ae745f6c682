import type { z } from 'zod'
import {
  ConnectionSettings,
  SettingsPreview,
  type settingsChangeOperations,
} from '../../src/contract/control/settings-changes.ts'
import { exportOf, openEmptyDaemon } from './first-visit.ts'

/** A connection of two lines of comments, over an export of 40 people. */
export const configuredConnection = `connections:
  # The whole company.
  hr:
    target: { name: HR }
    source:
      type: csv
      path: people.csv # from payroll
      mode: snapshot
      fields:
        identityId: { column: Employee ID }
        email: { column: Email }
        startedAt: { column: Start Date }
      status: { column: Status, leftWhen: [Terminated], employedWhen: [Active] }
      timeZone: UTC
    # Every night.
    schedule: { cron: '0 2 * * *' }
`

type Options = Omit<NonNullable<Parameters<typeof openEmptyDaemon>[0]>, 'limits'>
type Sections = z.input<(typeof settingsChangeOperations)['changeConnectionSettings']['body']>['sections']

/** A daemon with one connection, and what admins do with its settings. */
export async function openConfiguredDaemon({ more = configuredConnection, files = {}, ...options }: Options = {}) {
  const daemon = await openEmptyDaemon({
    ...options,
    more,
    files: { 'people.csv': exportOf(40), 'platform.key': 'key', ...files },
  })
  const path = '/connections/hr/settings'
  const read = async (token?: string) => ConnectionSettings.parse(await (await daemon.api(path, {}, token)).json())
  const send = async (step: string, body: object, token?: string) => await daemon.post(`${path}${step}`, body, token)
  return {
    ...daemon,
    read,
    send,
    async preview(sections: Sections, token?: string) {
      const { digest } = await read(token)
      return SettingsPreview.parse((await send('/preview', { digest, sections }, token)).body)
    },
    async save(sections: Sections, token?: string) {
      const { digest } = await read(token)
      return await send('', { digest, sections }, token)
    },
    /** The newest entries of the audit trail about settings. */
    async entries() {
      const answer = await daemon.api('/audit/entries?limit=50')
      const { data } = (await answer.json()) as { data: { act: string; by: string; details: object }[] }
      return data.filter(({ act }) => act.startsWith('settings.'))
    },
  }
}
