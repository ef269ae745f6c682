import { stackOf } from './errors.ts'
import { standardError, standardOutput } from './text/print.ts'
import { version } from './version.ts'

// The program that reads the log may exit, or its disk may be full: Rollcall continues without a log.
let isLogLost = false
process.stderr.on('error', () => {
  isLogLost = true
})

// A reader that closes stdout early, as `| head` does, is no failure: exit with 0. If stderr was closed too (`2>&1 | head`), continue
// without output.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (!isLogLost) process.exit(error.code === 'EPIPE' ? 0 : 1)
})

// Node would print the message of an uncaught exception without escaping control characters.
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
  // The process ends when nothing is left to do. If something was left open, it ends after three seconds.
  setTimeout(() => process.exit(), 3000).unref()
}
