import { once } from 'node:events'
import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PlanDocument, Run } from '../../contract/control/shapes.ts'
import type { Config } from '../../daemon/config/config.ts'
import { loadConfig } from '../../daemon/config/load-config.ts'
import { startDaemon } from '../../daemon/start.ts'
import { failures } from '../../errors.ts'
import { openOperator } from '../../platform/operators/access.ts'
import { startPlatform } from '../../platform/start.ts'
import { createEvents } from '../../telemetry/events.ts'
import { createLogger } from '../../telemetry/log.ts'
import { standardOutput } from '../../text/print.ts'
import { openLocally } from '../session/command-context.ts'
import type { Control } from '../session/control-client.ts'
import { followRun } from '../session/follow-run.ts'
import { createOutput } from '../session/output.ts'
import { listenForStop } from '../session/stop-signal.ts'
import { checkArrival } from './arrival.ts'
import { company, nextNight, toCsv } from './company.ts'
import { type ExportTime, exportedAt, lastNight } from './nights.ts'
import {
  type DemoNight,
  type DemoSummary,
  renderAgain,
  renderDemo,
  renderNight,
  renderSecondAct,
  troubleOf,
} from './report.ts'
import { cutShort, secondAct } from './second-act.ts'

/** The options of `rollcall demo`. */
export type DemoOptions = { readonly once?: boolean; readonly json?: boolean }

const account = 'Acme GmbH'
const connection = 'acme'
const size = 250
const seed = 20_261
const waitSeconds = 60

/**
 * The whole path on this machine: a platform, a company, two nights of HR exports, and the second export once more. Everything lives in its
 * own folder, which is removed at the end. Exits with 0 if everybody arrived.
 */
export async function play(options: DemoOptions): Promise<number> {
  const startedMs = performance.now()
  const output = createOutput(options)
  const stays = !options.once && !output.json && standardOutput.isTerminal
  using stop = listenForStop()
  const { signal } = stop
  await using opening = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-demo-'))
  opening.defer(() => rm(folder, { recursive: true, force: true }))

  const token = crypto.randomUUID()
  const platform = opening.use(await startPlatform({ database: join(folder, 'platform'), operatorToken: token }))
  const { operator } = opening.use(await openOperator({ database: '', url: platform.operatorUrl, token }))
  await operator.createAccount({
    body: {
      name: account,
      entitlements: ['CUSTOM_CONNECTIONS_AND_TESTS'],
      termsAcceptedAt: new Date().toISOString(),
    },
  })
  const { key } = await operator.createKey({ body: { account, name: 'rollcall', permissions: 'all' } })
  const config = await configure(folder, { baseUrl: platform.baseUrl, key })
  output.printMessage(`The platform listens on ${platform.baseUrl}, everything lives in ${folder}.`)

  const summary = await withControl(config, signal, async (control) => {
    const today = lastNight(Temporal.Now.instant())
    const yesterday = today.subtract({ days: 1 })
    const first = company({ seed, size, today: yesterday.toString() })
    const second = nextNight(first, { seed: seed + 1, today: today.toString() })
    const nights: DemoNight[] = []
    for (const { date, people } of [
      { date: yesterday.toString(), people: first },
      { date: today.toString(), people: second.people },
    ]) {
      const name = await dropExport(folder, { date, content: toCsv(people) })
      const night = {
        export: name,
        ...(await oneNight(control, signal)),
        identitySync: await operator.syncIdentities({ body: { account: account } }),
      }
      nights.push(night)
      output.printPart(`${renderNight(night, nights.length, output.paint)}\n`)
    }
    const again = await oneNight(control, signal)
    output.printPart(renderAgain(again.run, output.paint))
    const cut = await secondAct(control, {
      drop: (which) => {
        const content = which === 'cut' ? cutShort(second.people) : toCsv(second.people)
        return dropExport(folder, { date: today.toString(), content, time: which })
      },
      night: async () => (await oneNight(control, signal)).run,
    })
    output.printPart(renderSecondAct(cut, output.paint))
    const arrival = await checkArrival(
      { baseUrl: platform.baseUrl, key },
      { before: first, now: second, today: today.toString() },
    )
    return { platform: platform.baseUrl, people: size, nights, again: again.run, cut, arrival }
  })

  const document: DemoSummary = { ...summary, durationMs: Math.round(performance.now() - startedMs) }
  output.printResult(document, renderDemo)
  if (troubleOf(document) !== null) return failures.finished_with_problems.exit
  if (stays) await stayForALook(config, { platform: platform.baseUrl, folder, signal })
  return 0
}

/** Plans, shows nothing yet, and delivers: what `rollcall plan` and `rollcall sync` do. */
async function oneNight(control: Control, signal: AbortSignal): Promise<{ plan: PlanDocument; run: Run }> {
  const plan = await control.planConnection({ params: { connection }, query: {} })
  const requested = await control.startRun({ params: { connection }, body: {} })
  const progress = { show: () => {}, end: () => {} }
  return { plan, run: await followRun(control, requested, { waitSeconds, progress, signal }) }
}

async function withControl<T>(config: Config, signal: AbortSignal, work: (control: Control) => Promise<T>): Promise<T> {
  await using here = await openLocally(config, { hasWorkers: true, signal })
  return await work(here.control)
}

/** Writes what an operator would write: a configuration, and the key in a file of its own. */
async function configure(folder: string, { baseUrl, key }: { baseUrl: string; key: string }): Promise<Config> {
  await mkdir(join(folder, 'exports'))
  await writeFile(join(folder, 'platform_api_key'), key, { mode: 0o600 })
  const file = join(folder, 'rollcall.yaml')
  await writeFile(
    file,
    `platform:
  baseUrl: ${baseUrl}
  apiKey: \${file:platform_api_key}
dataDir: ./data
server: { host: 127.0.0.1, port: 0 }
connections:
  ${connection}:
    target: { name: Acme HRIS }
    source:
      type: csv
      path: exports/*.csv
      mode: snapshot
      preset: generic
`,
  )
  return await loadConfig(file, {})
}

type DroppedExport = { readonly date: string; readonly content: string; readonly time?: ExportTime }

async function dropExport(folder: string, { date, content, time = 'nightly' }: DroppedExport): Promise<string> {
  const name = time === 'nightly' ? `people-${date}.csv` : `people-${date}-${time}.csv`
  const file = join(folder, 'exports', name)
  await writeFile(file, content)
  const writtenAt = exportedAt(date, time)
  await utimes(file, writtenAt, writtenAt)
  return name
}

type RunningDemo = { readonly platform: string; readonly folder: string; readonly signal: AbortSignal }

/** Keeps the platform and a daemon running until they are stopped, and prints what can be looked at. */
async function stayForALook(config: Config, { platform, folder, signal }: RunningDemo): Promise<void> {
  const events = createEvents(createLogger({ level: 'warn' }))
  await using daemon = await startDaemon(config, { events })
  const file = join(folder, 'rollcall.yaml')
  standardOutput.print(`
The platform and a daemon keep running for a look around; Ctrl-C ends both and removes ${folder}.
  platform     ${platform}   (key in ${join(folder, 'platform_api_key')})
  control API  ${daemon.socket}   (Unix socket)
  bin/rollcall status --config ${file}
  bin/rollcall runs   --config ${file}
  bin/rollcall person W00001 --config ${file} --show-values
`)
  if (!signal.aborted) await once(signal, 'abort')
}
