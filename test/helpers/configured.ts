import { Client } from 'pg'
import type { z } from 'zod'
import {
  ConnectionSettings,
  SettingsPreview,
  type settingsChangeOperations,
} from '../../src/contract/control/settings-changes.ts'
import type { IdentityRecord } from '../../src/identity/record.ts'
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

/** Stores people as the platform would hold them after a first run of the connection. */
export async function storePeople(
  { database: { at } }: Pick<Awaited<ReturnType<typeof openConfiguredDaemon>>, 'database'>,
  people: readonly IdentityRecord[],
): Promise<void> {
  const database = new Client(at)
  await database.connect()
  await database.query(`insert into rollcall.connections (name) values ('hr') on conflict do nothing`)
  for (const desired of people)
    await database.query(
      `insert into rollcall.roster (connection, identity_id, desired, inferred, absences, as_of)
       values ('hr', $1, $2, false, 0, '2026-01-01T00:00:00Z')`,
      [desired.identityId, JSON.stringify(desired)],
    )
  await database.end()
}
