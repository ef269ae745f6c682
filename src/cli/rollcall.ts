import { CommanderError } from 'commander'
import { Failure, failures, stackOf } from '../errors.ts'
import { machineTimeZone, useTimeZone } from '../text/time.ts'
import { addPlatformCommands } from './definitions/support.ts'
import { missingPackage } from './missing-package.ts'
import { createProgram } from './program.ts'
import { configIn } from './session/hints.ts'
import { createOutput } from './session/output.ts'
import { exitOfStop } from './session/stop-signal.ts'

const bugExit = 1

/** Runs the command that the arguments name, and resolves to the exit code of the process. */
export async function rollcall(args: readonly string[]): Promise<number> {
  let exit = 0
  useTimeZone(machineTimeZone())
  const program = createProgram((code) => {
    exit = code
  })
  try {
    if (args.includes('platform')) await addPlatformCommands(program)
    await program.parseAsync([...args], { from: 'user' })
    return exit
  } catch (error) {
    return report(error, { json: args.includes('--json'), config: configIn(args) })
  }
}

function report(error: unknown, { json, config }: { json: boolean; config: string | undefined }): number {
  const output = createOutput({ json, config })
  const mark = output.paint('red', '✖')
  if (error instanceof CommanderError) {
    // Commander has already printed its message. Help and the version are not failures.
    if (error.exitCode === 0) return 0
    if (json) output.printResult(errorDocument('usage', error.message.replace(/^error: /, '')), () => '')
    return failures.usage.exit
  }
  const stopExit = exitOfStop(error)
  if (stopExit !== null) {
    output.printMessage('stopped')
    if (json) output.printResult(errorDocument('stopped', 'a signal asked the command to stop'), () => '')
    return stopExit
  }
  const failure = error instanceof Failure ? error : missingPackage(error)
  if (failure !== null) {
    output.printMessage(`${mark} ${failure.message}`)
    if (json) output.printResult(errorDocument(failure.code, failure.message), () => '')
    return failure.exit
  }
  output.printMessage(`${mark} this is a bug in Rollcall: ${stackOf(error)}`)
  if (json) output.printResult(errorDocument('bug', 'an unexpected error, described on stderr'), () => '')
  return bugExit
}

function errorDocument(code: string, message: string) {
  return { error: { level: 'failed', code, message } }
}
