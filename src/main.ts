import { run } from './cli/run.ts'

// A reader that has seen enough, as `| head` does, is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

process.exitCode = await run(process.argv.slice(2))

// The process ends by running out of work; this is for the day on which something was left open.
setTimeout(() => process.exit(), 3000).unref()
