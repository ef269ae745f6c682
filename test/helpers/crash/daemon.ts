/**
 * A daemon that dies at a given step: `node crash-daemon.ts <configuration> [<step> [<nth>]]`. It loads everything, says
 * `loaded`, and begins when its input says `start`, so that one can be made ready while another still works. Its input may
 * name the step later, or another one: `die <step> <nth>`, counted from there. A step is an event, of some with what it is
 * about: `request.begun`, `step.stored:cleared`. Each event is a line of JSON on stdout before anything follows from it.
 * Without a step it works until it is told to stop. `weigh` makes it say how much memory is still in use after everything else was collected.
 */
import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { createInterface } from 'node:readline'
import { listenForStop } from '../../../src/cli/session/stop-signal.ts'
import { loadConfig } from '../../../src/daemon/config/load-config.ts'
import { startDaemon } from '../../../src/daemon/start.ts'
import { describeError } from '../../../src/telemetry/describe-error.ts'
import { type Event, silentEvents } from '../../../src/telemetry/events.ts'
import { usedMemory } from '../used-memory.ts'

const [configuration = '', step = '', nth = '1'] = process.argv.slice(2)
const stdout = 1

let death = { step, left: Number(nth) }
const started = Promise.withResolvers<void>()
using stop = listenForStop()

const input = createInterface(process.stdin)
input.on('line', (line) => {
  const [command, deadly = '', count = '1'] = line.split(' ')
  if (command === 'weigh') return printEvent({ event: 'weighed', ...usedMemory() })
  if (command !== 'die') return started.resolve()
  death = { step: deadly, left: Number(count) }
  printEvent({ event: 'armed', step: deadly })
})
// Whoever started it is gone, and with them the reason to work on.
input.on('close', die)

const config = await loadConfig(configuration, process.env)
flushCompileCache()
printEvent({ event: 'loaded' })
await started.promise
const daemon = await startDaemon(config, { events: silentEvents(onEvent) })
if (!stop.signal.aborted) await once(stop.signal, 'abort')
await daemon[Symbol.asyncDispose]()
process.exit(0)

function onEvent(event: Event): void {
  const at = 'step' in event ? `${event.event}:${event.step}` : event.event
  printEvent('error' in event ? { ...event, error: describeError(event.error) } : event)
  if (at !== death.step) return
  death.left -= 1
  if (death.left === 0) die()
}

function printEvent(event: object): void {
  writeSync(stdout, `${JSON.stringify(event)}\n`)
}

function die(): void {
  process.kill(process.pid, 'SIGKILL')
}
