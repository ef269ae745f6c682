import { constants } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import type { Config } from '../../daemon/config/config.ts'
import { Failure } from '../../errors.ts'
import { escapeJson } from '../../text/escape.ts'
import { openScreen, standardOutput } from '../../text/print.ts'
import { formatClock } from '../../text/time.ts'
import { type Paint, wrapLines } from '../render/text.ts'
import type { Control } from './control-client.ts'
import { controlOverSocket } from './control-client.ts'
import { findDaemon } from './find-daemon.ts'
import { pasteable } from './hints.ts'
import { createOutput, type Output } from './output.ts'
import { type CommonOptions, configOf } from './session.ts'
import { listenForStop } from './stop-signal.ts'

const refreshMs = 1000
/** A person who presses q ends a view, as with Ctrl-C. */
const exitOfQuit = 128 + constants.signals.SIGINT

/** A value that is watched while it changes. */
type Live<T> = {
  look(control: Control): Promise<T>
  /** What is drawn on a terminal, and stays there at the end. */
  render(value: T, paint: Paint): string
  /** The changes since the last look, a line each: for a file, a pipe and a terminal that cannot redraw. */
  changes(value: T, before: T | null, paint: Paint): string[]
  /** True once nothing will change any more. */
  isOver?(value: T): boolean
}

type WatchResult<T> = {
  /** The value of the last look. */
  readonly latest: T | null
  /** The exit code if a person or a signal ended the view; null if it was over. */
  readonly stopExit: number | null
}

/**
 * Shows a value until it is over or a person quits, refreshed at most once a second. On a terminal it is redrawn in place; elsewhere changes are
 * printed as lines, and with --json as one document a line. A daemon that goes away is reported and waited for. Without a daemon the store
 * is read once, and is left to a daemon that may start.
 */
export async function watch<T>(options: CommonOptions, live: Live<T>): Promise<WatchResult<T>> {
  const output = createOutput(options)
  const config = await configOf(options, { secrets: 'when needed' })
  using stop = listenForStop()
  const quitting = new AbortController()
  const signal = AbortSignal.any([stop.signal, quitting.signal])
  let latest: T | null = null
  {
    using view = createView(options, live, { output, quit: () => quitting.abort() })
    const source = await sourceOf(config, signal)
    try {
      for (;;) {
        const next = await source.look(live.look)
        if (next.away === null) latest = next.value
        view.show(next)
        if (next.away === null && live.isOver?.(next.value)) break
        await pause(refreshMs, undefined, { signal })
      }
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }
  if (latest !== null && isDrawn(output)) output.printResult(latest, live.render)
  return { latest, stopExit: signal.aborted ? (stop.exit() ?? exitOfQuit) : null }
}

/** The value; or, while the daemon is away, since when and why. */
type LookResult<T> = { readonly value: T; readonly away: null } | { readonly away: Away }
type Away = { readonly since: Date; readonly reason: string }

type Source = { look<T>(look: (control: Control) => Promise<T>): Promise<LookResult<T>> }

/** Reads through the running daemon. Before one has run, it reads the store itself: each time on a server, and once in the data folder. */
async function sourceOf(config: Config, signal: AbortSignal): Promise<Source> {
  let control = await controlOfDaemon(config)
  let away: Away | null = null
  let hasRead = false
  const absent = (reason: string): { away: Away } => {
    away ??= { since: new Date(), reason }
    return { away }
  }
  return {
    async look(look) {
      control ??= await controlOfDaemon(config)
      try {
        if (control === null && away !== null) return absent(away.reason)
        if (control === null) {
          if (hasRead && config.database === null) return absent('no daemon is running')
          hasRead = true
          return { value: await withoutDaemon(config, signal, look), away: null }
        }
        hasRead = true
        const value = await look(control)
        away = null
        return { value, away: null }
      } catch (error) {
        if (!(error instanceof Failure) || !error.retry) throw error
        control = null
        return absent(error.message)
      }
    },
  }
}

async function controlOfDaemon(config: Config): Promise<Control | null> {
  const daemon = await findDaemon(config)
  return daemon && controlOverSocket(daemon)
}

async function withoutDaemon<T>(
  config: Config,
  signal: AbortSignal,
  look: (control: Control) => Promise<T>,
): Promise<T> {
  const { openLocally: openHere } = await import('./command-context.ts')
  await using here = await openHere(config, { isReadOnly: true, signal })
  return await look(here.control)
}

type View<T> = Disposable & { show(result: LookResult<T>): void }

function isDrawn({ json }: Output): boolean {
  return !json && standardOutput.canRedraw
}

function createView<T>(
  options: CommonOptions,
  live: Live<T>,
  { output, quit }: { output: Output; quit: () => void },
): View<T> {
  return isDrawn(output) ? createScreenView(options, live, quit) : createLineView(live, output)
}

function createScreenView<T>({ config }: CommonOptions, live: Live<T>, quit: () => void): View<T> {
  const { paint } = standardOutput
  const screen = openScreen(quit)
  let last: T | null = null
  return {
    show(result) {
      if (result.away === null) last = result.value
      const state =
        result.away === null
          ? paint('dim', `${formatClock(new Date())} · press q to quit`)
          : paint(
              'yellow',
              `! ${formatClock(new Date())} · ${awayText(result.away)}; waiting for the daemon · press q to quit`,
            )
      const shown = last
      screen.draw((columns) => {
        const body = shown === null ? '' : pasteable(live.render(shown, paint), { config })
        return wrapLines(`${state}\n\n${body}`, columns)
      })
    },
    [Symbol.dispose]: () => screen[Symbol.dispose](),
  }
}

function createLineView<T>(live: Live<T>, output: Output): View<T> {
  let before: T | null = null
  let text = ''
  let isAway = false
  return {
    show(result) {
      if (result.away !== null) {
        if (!isAway) output.printMessage(`! ${awayText(result.away)}; waiting for the daemon`)
        isAway = true
        return
      }
      if (isAway) output.printMessage('the daemon is responding again')
      isAway = false
      if (output.json) {
        const document = escapeJson(JSON.stringify(result.value))
        if (document !== text) standardOutput.print(`${document}\n`)
        text = document
      } else {
        for (const line of live.changes(result.value, before, standardOutput.paint)) output.printPart(line)
      }
      before = result.value
    },
    [Symbol.dispose]: () => undefined,
  }
}

function awayText({ since, reason }: Away): string {
  return `${reason} (since ${formatClock(since)})`
}
