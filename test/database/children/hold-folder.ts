/** Claims the folder named on the command line, says how that went in one line of JSON, and keeps what it got until its input ends. */
import { lockFolder } from '../../../src/database/lock-file.ts'
import { Failure } from '../../../src/errors.ts'

const [folder = ''] = process.argv.slice(2)

try {
  await using _claim = await lockFolder(folder)
  process.stdout.write(`${JSON.stringify({ held: true })}\n`)
  for await (const _chunk of process.stdin);
} catch (error) {
  if (!(error instanceof Failure)) throw error
  process.stdout.write(`${JSON.stringify({ held: false, code: error.code, message: error.message })}\n`)
  process.exitCode = error.exit
}
