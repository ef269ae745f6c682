import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { company, nextNight, type Person, toCsv } from '../../src/cli/demo/company.ts'
import { controlOverSocket } from '../../src/cli/session/control-client.ts'
import { endedOrHeldStates } from '../../src/contract/control/shapes.ts'
import { loadConfig } from '../../src/daemon/config/load-config.ts'
import { readAddress } from '../../src/daemon/control/address-file.ts'
import { startDaemon } from '../../src/daemon/start.ts'
import { openOperator } from '../../src/platform/operators/access.ts'
import { startPlatform } from '../../src/platform/start.ts'
import { silentEvents } from '../../src/telemetry/events.ts'
import { rollcall, startCommand } from '../helpers/cli.ts'

const account = 'Acme GmbH'
const size = 118
const seed = 20_264
const days = 94
/** How many rows the last export of the story has lost. */
const lostRows = 8
const noDate = '2026-02-31'
const resting: ReadonlySet<string> = new Set(endedOrHeldStates)
const minuteMs = 60_000
const password = 'correct horse battery'
const host = '127.0.0.1'

/** A company of two months in which a plan is held since this morning, and the daemon and the platform that know of it. */
export type Stage = AsyncDisposable & {
  readonly configFile: string
  /** Where the console is, and the token of somebody who may approve. */
  readonly console: { readonly url: string; readonly token: string }
  /** Where the Personnel page is, and who may sign in there. */
  readonly platform: {
    readonly url: string
    readonly name: string
    readonly password: string
    readonly account: number
  }
  /** A run that delivered, one that is held, and a person whom the latter would separate. */
  readonly delivered: string
  readonly held: { readonly id: string; readonly digest: string }
  readonly leaver: string
}

/** Lives through the nights with a clock of its own; the last one is now, and from then on `rollcall serve` has it. */
export async function openStage(): Promise<Stage> {
  await using opening = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-pictures-'))
  opening.defer(() => rm(folder, { recursive: true, force: true }))
  const clock = storyClock()
  const { now } = clock
  const operatorToken = crypto.randomUUID()
  const platform = opening.use(await startPlatform({ database: join(folder, 'platform'), operatorToken, now }))
  const { operator } = opening.use(
    await openOperator({ database: '', url: platform.operatorUrl, token: operatorToken }),
  )
  const made = await operator.createAccount({
    body: { name: account, entitlements: ['CUSTOM_CONNECTIONS_AND_TESTS'], termsAcceptedAt: now().toISOString() },
  })
  await operator.createOperator({ body: { name: 'ana', account: null, password } })
  const { key } = await operator.createKey({ body: { account, name: 'rollcall', permissions: 'all' } })
  const configFile = await configure(folder, { baseUrl: platform.baseUrl, key })

  const today = Temporal.Now.plainDateISO('UTC')
  const drop = async (exported: readonly Person[], date: Temporal.PlainDate) => {
    const file = join(folder, 'exports', `people-${date}.csv`)
    await writeFile(file, toCsv(exported))
    await utimes(file, now(), now())
  }
  const config = await loadConfig(configFile, {})
  let people = company({ seed, size, today: today.subtract({ days }).toString() })
  let delivered = ''
  {
    await using daemon = await startDaemon(config, { events: silentEvents(), now, roles: ['api', 'worker'] })
    const control = controlOverSocket({ socket: daemon.socket ?? '' })
    for (let daysAgo = days; daysAgo > 0; daysAgo -= daysAgo > 3 ? 3 : 1) {
      const date = today.subtract({ days: daysAgo })
      clock.set(`${date}T02:00:00Z`)
      if (daysAgo < days) {
        const counts = countsOf(daysAgo)
        people = nextNight(people, { seed: seed + daysAgo, today: date.toString(), counts }).people
      }
      await drop(daysAgo === 1 ? withMistakes(people) : people, date)
      const { id } = await control.startRun({ params: { connection: 'hr' }, body: { by: 'Ben Haddad' } })
      while (!resting.has((await control.getRun({ params: { runId: id } })).state)) await pause(20)
      if (daysAgo % 10 === 2) await operator.syncIdentities({ body: { account } })
      delivered = id
    }
  }

  clock.set(new Date(Date.now() - 20 * minuteMs))
  await drop(people.slice(0, -lostRows), today)
  const daemon = opening.use(startCommand(['serve', '--json', '--config', configFile]))
  await daemon.waitForOutput('daemon.started')
  const { url, socket } = (await readAddress(join(folder, 'data'))) ?? { url: '', socket: '' }
  const control = controlOverSocket({ socket })
  clock.set(new Date())
  const { id } = await control.startRun({ params: { connection: 'hr' }, body: { by: 'Ben Haddad' } })
  await daemon.waitForOutput('run.held')
  const { digest } = await control.getRun({ params: { runId: id } })
  const { stdout: token } = await rollcall([
    'token',
    'create',
    '--name',
    'Ana Okoro',
    '--role',
    'approver',
    '--config',
    configFile,
    '--json',
  ])
  const opened = opening.move()
  return {
    configFile,
    console: { url, token: JSON.parse(token).token },
    platform: { url: new URL(platform.baseUrl).origin, name: 'ana', password, account: made.id },
    delivered,
    held: { id, digest: digest ?? '' },
    leaver: people.at(-1)?.workerId ?? '',
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

/** A clock that can be set, and goes on from there. */
function storyClock() {
  let ahead = 0
  return {
    now: () => new Date(Date.now() + ahead),
    set: (at: Date | string) => {
      ahead = new Date(at).getTime() - Date.now()
    },
  }
}

/** What one night brings: a small company does not change every night, and less on some days than on others. */
function countsOf(daysAgo: number) {
  const none = { absentee: 0, futureLeaver: 0, returner: 0, correction: 0, brokenRow: 0 }
  return { ...none, joiner: daysAgo % 2 === 0 ? 2 : 0, mover: (daysAgo * 7) % 5, leaver: daysAgo % 5 === 0 ? 1 : 0 }
}

/** Somebody in HR types dates that no calendar has. */
function withMistakes(people: readonly Person[]): Person[] {
  return people.map((person, at) => (at === 41 || at === 77 ? { ...person, hireDate: noDate } : person))
}

async function configure(folder: string, { baseUrl, key }: { baseUrl: string; key: string }): Promise<string> {
  await mkdir(join(folder, 'exports'))
  await writeFile(join(folder, 'platform_api_key'), key, { mode: 0o600 })
  const file = join(folder, 'rollcall.yaml')
  await writeFile(
    file,
    `platform:
  baseUrl: ${baseUrl}
  apiKey: \${file:platform_api_key}
  requestsPerMinute: 100000
dataDir: ./data
server: { host: ${host}, port: 0 }
approvals: { twoPeople: true }
connections:
  hr:
    target: { name: Acme HRIS }
    source:
      type: csv
      path: exports/*.csv
      mode: snapshot
      preset: generic
      timeZone: Europe/Berlin
      complete: { quietSeconds: 0 }
    verify: never
    schedule: { cron: '0 2 * * *' }
`,
  )
  return file
}
