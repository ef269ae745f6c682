import { readFileSync } from 'node:fs'
import { version } from '../version.ts'

/** What the command says that needs no command line to be understood; null for everything else. */
export function answerAtOnce(args: readonly string[]): string | null {
  const [only, ...others] = args
  if (others.length > 0) return null
  switch (only) {
    case '--version':
    case '-V':
      return `${version}\n`
    case '--help':
    case '-h':
      return readFileSync(new URL('help.txt', import.meta.url), 'utf8')
    default:
      return null
  }
}
