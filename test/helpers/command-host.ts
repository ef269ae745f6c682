/**
 * Runs commands one after the other, each as `bin/rollcall` runs it but for a process of its own: the arguments, the environment and
 * the standard input come as a message, and the exit code and what was printed go back as one. It ends with the process that started it.
 */
import { Readable } from 'node:stream'
import { rollcall } from '../../src/cli/rollcall.ts'
import type { CommandRequest, CommandResponse } from './called.ts'

const captured = { stdout: '', stderr: '' }
capture('stdout')
capture('stderr')

process.on('message', async ({ args, env, input, cwd }: CommandRequest) => {
  Object.assign(captured, { stdout: '', stderr: '' })
  process.env = { ...env }
  process.chdir(cwd)
  Object.defineProperty(process, 'stdin', { value: Readable.from(Buffer.from(input)), configurable: true })
  const exit = await rollcall(args)
  process.send?.({ exit, ...captured } satisfies CommandResponse)
})
process.on('disconnect', () => process.exit())

function capture(name: 'stdout' | 'stderr'): void {
  const stream = process[name]
  const decoder = new TextDecoder()
  // `write` gets a text or bytes, optionally an encoding and a callback.
  stream.write = (chunk: string | Uint8Array, ...rest: readonly unknown[]) => {
    captured[name] += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })
    const done = rest.findLast((one) => typeof one === 'function')
    if (done) process.nextTick(done as () => void)
    return true
  }
}
