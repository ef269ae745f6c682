import { readFile } from 'node:fs/promises'
import { posix } from 'node:path'
import { expect } from 'vitest'

/** What a command printed on both streams, and its exit code. */
export type CommandOutput = { readonly exit: number; readonly output: string }

/** Runs the steps of the page on the first connection. */
export type PageRunner = {
  /** A folder of Rollcall, as the page begins in. */
  readonly folder: string
  /** Runs a line as the shell does. */
  run(line: string, folder: string): Promise<CommandOutput>
  /** Runs the line that starts the platform, or starts another one with a key where the page has it. Answers its address. */
  platform(line: string, folder: string): Promise<string>
}

type Block = { readonly kind: 'sh' | 'text'; readonly lines: readonly string[]; readonly above: string }

const page = new URL('../../docs/first-connection.md', import.meta.url)
const platformUrl = 'http://127.0.0.1:4010/public/v2'
// No command waits until they have been quiet for a while.
const letSettle =
  'at=$(($(date +%s) - 3600)); for file in exports/*; do [ ! -e "$file" ] || touch -d @$at "$file"; at=$((at + 60)); done'

/** Runs every command of the page and compares its output. Returns the number of commands. */
export async function followPage(runner: PageRunner): Promise<number> {
  let folder = runner.folder
  let baseUrl = platformUrl
  let output = ''
  let commands = 0
  for (const { kind, lines, above } of blocksOf(await readFile(page, 'utf8'))) {
    if (kind === 'text') {
      for (const line of lines) expect(output.replaceAll(baseUrl, platformUrl)).toMatch(patternOf(line))
      continue
    }
    output = ''
    const expected = Number(/exit code (\d+)/.exec(above)?.[1] ?? 0)
    for (const [index, line] of lines.entries()) {
      commands += 1
      if (line.includes('platform serve')) {
        baseUrl = await runner.platform(line, folder)
        continue
      }
      const result = await runner.run(line.replace(platformUrl, baseUrl), folder)
      expect({ line, ...result }).toMatchObject({ exit: index === lines.length - 1 ? expected : 0 })
      const [, entered] = /&& cd (\S+)$/.exec(line) ?? []
      if (entered !== undefined) folder = posix.join(folder, entered)
      await runner.run(letSettle, folder)
      output += result.output
    }
  }
  return commands
}

/** The blocks of the page, each with the text above it. */
function blocksOf(text: string): Block[] {
  const blocks = [...text.matchAll(/([\s\S]*?)^```(sh|text)\n([\s\S]*?)^```$/gm)]
  return blocks.map(([, above = '', kind, lines = '']) => ({
    kind: kind as Block['kind'],
    lines: lines.trimEnd().split('\n'),
    above,
  }))
}

/** A line of the page as a pattern: … stands for whatever the machine and the day put there. */
function patternOf(line: string): RegExp {
  return new RegExp(line.split('…').map(RegExp.escape).join('.*'))
}
