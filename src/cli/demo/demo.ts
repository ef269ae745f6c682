import { createOutput } from '../session/output.ts'
import type { DemoOptions } from './play.ts'

/** The demo. It prints its first line at once: loading a platform and a daemon takes longer than a person waits in silence. */
export async function demo(options: DemoOptions): Promise<number> {
  const output = createOutput(options)
  output.printMessage(
    'A platform, a company of 250 invented people, two nights of HR exports, and an export that is cut short.',
  )
  const { play } = await import('./play.ts')
  return await play(options)
}
