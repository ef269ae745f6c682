import { answerAtOnce } from './cli/at-once.ts'

// A reader that has seen enough, as `| head` does, is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

const args = process.argv.slice(2)
const answer = await answerAtOnce(args)
if (answer !== null) {
  process.stdout.write(answer)
} else {
  const { rollcall } = await import('./cli/rollcall.ts')
  process.exitCode = await rollcall(args)
  // The process ends by running out of work; this is for the day on which something was left open.
  setTimeout(() => process.exit(), 3000).unref()
}
