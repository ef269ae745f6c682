import { stackOf } from './errors.ts'
import { standardError, standardOutput } from './text/print.ts'
import { version } from './version.ts'

// The program that reads the log may go away, or its disk be full: the work goes on without a log.
let isLogLost = false
process.stderr.on('error', () => {
  isLogLost = true
})

// A reader that has seen enough, as `| head` does, is no failure. One that read the log as well has taken both ends away.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (!isLogLost) process.exit(error.code === 'EPIPE' ? 0 : 1)
})

// What ends the process without a command noticing is printed like everything else, and not by Node, which prints it as it is.
process.on('uncaughtException', (error: unknown) => {
  standardError.print(`✖ this is a bug in Rollcall: ${stackOf(error)}\n`)
  process.exit(1)
})

const args = process.argv.slice(2)
if (args.length === 1 && (args[0] === '--version' || args[0] === '-V')) {
  // Needs no command, so none is loaded.
  standardOutput.print(`${version}\n`)
} else {
  const { rollcall } = await import('./cli/rollcall.ts')
  process.exitCode = await rollcall(args)
  // The process ends by running out of work; this is for the day on which something was left open.
  setTimeout(() => process.exit(), 3000).unref()
}
