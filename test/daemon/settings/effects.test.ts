import { utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { configOfText, loadConfig } from '../../../src/daemon/config/load-config.ts'
import { openStore } from '../../../src/daemon/installation/open-store.ts'
import { effectsOf } from '../../../src/daemon/settings/effects.ts'
import { toSyncConnection } from '../../../src/daemon/sync-connection.ts'
import { silentEvents } from '../../../src/telemetry/events.ts'
import { openConfiguredDaemon } from '../../helpers/configured.ts'
import { exportOf } from '../../helpers/first-visit.ts'

/** The export is not waited for: nobody has changed it for long. */
const quietAt = new Date('2026-01-02T03:04:05Z')

test('an export that arrives between the two readings is not silently put down to the settings', async () => {
  await using daemon = await openConfiguredDaemon()
  const { file, text, folder } = daemon
  const people = join(folder, 'people.csv')
  const before = await loadConfig(file, {})
  const changed = text.replace('leftWhen: [Terminated]', 'leftWhen: [Terminated, Gone]')
  const after = await configOfText({ file, text: changed, changedMs: 0 }, {})
  await using store = await openStore(before)
  const sync = { store, now: () => new Date(), events: silentEvents() }
  const compare = async (onReading: () => void) => {
    const toSync: typeof toSyncConnection = (config, connection) => {
      onReading()
      return toSyncConnection(config, connection)
    }
    const parts = { sync, toSync, signal: new AbortController().signal }
    return (await effectsOf({ connection: 'hr', before, after }, parts)).effect
  }

  utimesSync(people, quietAt, quietAt)
  let readings = 0
  const steady = await compare(() => {})
  const mixed = await compare(() => {
    if (++readings !== 2) return
    writeFileSync(people, exportOf(39))
    utimesSync(people, quietAt, quietAt)
  })

  expect(steady).toMatchObject({ hasSourceChanged: false, before: { rows: 40 }, after: { rows: 40 } })
  expect(mixed).toMatchObject({ hasSourceChanged: true, before: { rows: 40 }, after: { rows: 39 } })
})
