import { styleText } from 'node:util'
import { escapeLines, jsonText } from './escape.ts'

/** The colours and styles that texts of ours use. */
export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'magenta' | 'cyan' | 'gray'

/** Colours a text; returns it unchanged if the output has no colours. */
export type Paint = ((style: Style, text: string) => string) & {
  /** The width of the terminal; null or left out for other outputs. */
  readonly columns?: number | null
}

/** The standard output or the standard error. All texts of ours are written through a printer. */
export type Printer = {
  readonly isTerminal: boolean
  /** True for a terminal that can overwrite a line. */
  readonly canRedraw: boolean
  /** The width of a terminal; null elsewhere. */
  readonly columns: number | null
  /** Colours for texts printed here: on a terminal only, and not if NO_COLOR is set. */
  readonly paint: Paint
  /** Prints text that may have several lines. */
  print(text: string): void
  /** Overwrites the current line of a terminal. */
  replaceLine(line: string): void
}

/**
 * Colours in a text carry a random number, drawn when the first one is used. Texts from outside cannot know it, so the printer passes our
 * colours and escapes every other terminal sequence. Null: nothing was coloured yet.
 */
let ours: { readonly number: string; readonly colours: RegExp } | null = null
const emptyLine = '\r\u001b[K'

/** Prints to the standard output. */
export const standardOutput: Printer = printer(() => process.stdout)
/** Prints to the standard error. */
export const standardError: Printer = printer(() => process.stderr)

/** Calls `onLost` with the system's error code once the standard error cannot be written. */
export function onErrorOutputLost(onLost: (code: string) => void): void {
  process.stderr.once('error', ({ code = 'no code' }: NodeJS.ErrnoException) => onLost(code))
}

/** Prints a document as JSON with hidden characters escaped. */
export function printJson(document: unknown): void {
  standardOutput.print(jsonText(document))
}

/** Asks the person at the terminal and returns the line they enter. */
export async function ask(question: string, signal: AbortSignal): Promise<string> {
  const { createInterface } = await import('node:readline/promises')
  using prompt = createInterface({ input: process.stdin, output: process.stderr })
  // The prompt reads Ctrl-C as a key: turn it into the signal that stops the command.
  prompt.on('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  return await prompt.question(printable(question), { signal })
}

/** A text that is safe for a terminal, a pipe or a file: hidden characters are escaped, our own colours stay. */
export function printable(text: string): string {
  if (ours === null) return escapeLines(text)
  return text
    .split(ours.colours)
    .map((piece, at) => (at % 2 === 1 ? `${piece}m` : escapeLines(piece)))
    .join('')
}

/** Colours for a stream that `printable` recognizes as ours. */
export function paintFor(stream: NodeJS.WritableStream): Paint {
  return (style, text) => {
    const [before = '', after = ''] = styleText(style, '\0', { stream }).split('\0')
    return `${marked(before)}${text}${marked(after)}`
  }
}

function marked(colour: string): string {
  if (colour === '') return colour
  ours ??= drawNumber()
  return colour.replace(/m$/, `;${ours.number}m`)
}

function drawNumber(): typeof ours & {} {
  // An import would load it for every command, which takes a tenth of the time of a short one.
  const { randomInt } = process.getBuiltinModule('node:crypto')
  const number = Array.from({ length: 3 }, () => String(randomInt(10_000)).padStart(4, '0')).join(';')
  return { number, colours: new RegExp(String.raw`(\x1b\[\d{1,2});${number}m`) }
}

/** The whole terminal, for views that update themselves. Disposing restores what was there before. */
type Screen = Disposable & {
  /** Shows what `make` returns for the terminal's width, and calls it again if the size changes. */
  draw(make: (columns: number) => string): void
}

const enterScreen = '\u001b[?1049h\u001b[?25l'
const leaveScreen = '\u001b[?25h\u001b[?1049l'
// Between these two sequences a terminal that supports them shows no partial frame.
const [beginFrame, endFrame] = ['\u001b[?2026h\u001b[H', '\u001b[J\u001b[?2026l']
// q, Ctrl-C and Ctrl-D, as a terminal in raw mode sends them.
const quitKeys = ['q', 'Q', '\u0003', '\u0004']

/** Takes over the terminal of the standard output. `onQuit` is called when the person presses q, Ctrl-C or Ctrl-D. */
export function openScreen(onQuit: () => void): Screen {
  const { stdin, stdout } = process
  let make: ((columns: number) => string) | null = null
  let shown = ''

  function frame(): void {
    // A terminal that is slow misses frames instead of falling behind.
    if (make === null || stdout.writableNeedDrain) return
    const rows = stdout.rows || 24
    const lines = printable(make(stdout.columns || 80)).split('\n')
    const excess = lines.length - rows
    const fitting = excess > 0 ? [...lines.slice(0, rows - 1), `… ${excess + 1} more lines`] : lines
    const text = fitting.map((line) => `${line}\u001b[K`).join('\r\n')
    if (text !== shown) stdout.write(`${beginFrame}${text}${endFrame}`)
    shown = text
  }

  function onResize(): void {
    shown = ''
    frame()
  }

  function onKeys(keys: Buffer): void {
    const text = keys.toString('latin1')
    if (quitKeys.some((key) => text.includes(key))) onQuit()
  }

  function leave(): void {
    stdout.write(leaveScreen)
  }

  stdout.write(enterScreen)
  stdout.on('resize', onResize)
  process.once('exit', leave)
  if (stdin.isTTY) stdin.setRawMode(true).on('data', onKeys).resume()
  return {
    draw: (next) => {
      make = next
      frame()
    },
    [Symbol.dispose]: () => {
      stdout.off('resize', onResize)
      process.off('exit', leave)
      if (stdin.isTTY) stdin.setRawMode(false).off('data', onKeys).pause()
      leave()
    },
  }
}

function columnsOf(stream: NodeJS.WriteStream): number | null {
  // A terminal that does not know its width says 0.
  return (stream.isTTY && stream.columns) || null
}

function printer(stream: () => NodeJS.WriteStream): Printer {
  return {
    get isTerminal() {
      return stream().isTTY === true
    },
    get canRedraw() {
      return stream().isTTY === true && process.env.TERM !== 'dumb'
    },
    get columns() {
      return columnsOf(stream())
    },
    paint: Object.defineProperty((style: Style, text: string) => paintFor(stream())(style, text), 'columns', {
      get: () => columnsOf(stream()),
    }),
    print: (text) => {
      stream().write(printable(text))
    },
    replaceLine: (line) => {
      stream().write(`${emptyLine}${printable(line)}`)
    },
  }
}
