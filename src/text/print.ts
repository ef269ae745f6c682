import { styleText } from 'node:util'
import { jsonText, escapeLines } from './escape.ts'

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'magenta' | 'cyan' | 'gray'

/** Colours a piece of text, or leaves it as it is where colours have no place. */
export type Paint = ((style: Style, text: string) => string) & {
  /** The width of the terminal that is painted on, for what has to fit; null or left out elsewhere. */
  readonly columns?: number | null
}

/** One of the two ways to the person or the program that started the command. Nothing else of ours writes there. */
export type Printer = {
  readonly isTerminal: boolean
  /** True for a terminal that can put a text in the place of another one: not a dumb one. */
  readonly canRedraw: boolean
  /** The width of a terminal; null elsewhere. */
  readonly columns: number | null
  /** Colours for what is printed here: on a terminal only, and not where NO_COLOR is set. */
  readonly paint: Paint
  /** Prints text that may have several lines. */
  print(text: string): void
  /** Puts a line of a terminal in the place of the one that stands there. */
  replaceLine(line: string): void
}

/**
 * Colours travel through a text with a number that is drawn when the first of them is used. No text from outside knows it, so that the
 * printer lets through the colours that are ours and no other sequence of a terminal. Null: nothing was coloured yet.
 */
let ours: { readonly number: string; readonly colours: RegExp } | null = null
const emptyLine = '\r\u001b[K'

export const standardOutput: Printer = printer(() => process.stdout)
export const standardError: Printer = printer(() => process.stderr)

/** Calls `lost` with the system's code once the standard error cannot be written any more. */
export function onErrorOutputLost(lost: (code: string) => void): void {
  process.stderr.once('error', ({ code = 'no code' }: NodeJS.ErrnoException) => lost(code))
}

/** Prints a document for a program: the same values, with everything that a reader could not see as an escape. */
export function printJson(document: unknown): void {
  standardOutput.print(jsonText(document))
}

/** Asks the person at the terminal. */
export async function ask(question: string, signal: AbortSignal): Promise<string> {
  const { createInterface } = await import('node:readline/promises')
  using prompt = createInterface({ input: process.stdin, output: process.stderr })
  // The prompt takes Ctrl-C as a key: as a signal it stops the command as it does everywhere else.
  prompt.on('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  return await prompt.question(printable(question), { signal })
}

/** Text as it may reach a terminal, a pipe or a file: all signs can be seen, and the colours are ours. */
export function printable(text: string): string {
  if (ours === null) return escapeLines(text)
  return text
    .split(ours.colours)
    .map((piece, at) => (at % 2 === 1 ? `${piece}m` : escapeLines(piece)))
    .join('')
}

/** Colours for a stream, in the form that `printable` knows as ours. */
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
  // Imported as a module, it would be loaded by every command, and takes a tenth of the time of a short one.
  const { randomInt } = process.getBuiltinModule('node:crypto')
  const number = Array.from({ length: 3 }, () => String(randomInt(10_000)).padStart(4, '0')).join(';')
  return { number, colours: new RegExp(String.raw`(\x1b\[\d{1,2});${number}m`) }
}

/** The whole terminal, for what is looked at while it changes. What stood there before comes back at the end. */
type Screen = Disposable & {
  /** Puts what is made for the terminal's width in the place of what stands there. It is made again if the size changes. */
  draw(make: (columns: number) => string): void
}

const enterScreen = '\u001b[?1049h\u001b[?25l'
const leaveScreen = '\u001b[?25h\u001b[?1049l'
// Between these two a terminal that knows them shows nothing, so that no half of a frame is seen.
const [beginFrame, endFrame] = ['\u001b[?2026h\u001b[H', '\u001b[J\u001b[?2026l']
// q, Ctrl-C and Ctrl-D, which a terminal in raw mode gives as they are.
const quitKeys = ['q', 'Q', '\u0003', '\u0004']

/** Takes the terminal of standard output. `quit` is called when the person presses q or Ctrl-C. */
export function openScreen({ quit }: { quit: () => void }): Screen {
  const { stdin, stdout } = process
  let make: ((columns: number) => string) | null = null
  let shown = ''

  function frame(): void {
    // A terminal that is slow misses frames instead of falling behind.
    if (make === null || stdout.writableNeedDrain) return
    const rows = stdout.rows || 24
    const lines = printable(make(stdout.columns || 80)).split('\n')
    const left = lines.length - rows
    const fitting = left > 0 ? [...lines.slice(0, rows - 1), `… ${left + 1} more lines`] : lines
    const text = fitting.map((line) => `${line}\u001b[K`).join('\r\n')
    if (text !== shown) stdout.write(`${beginFrame}${text}${endFrame}`)
    shown = text
  }

  function resized(): void {
    shown = ''
    frame()
  }

  function pressed(keys: Buffer): void {
    const text = keys.toString('latin1')
    if (quitKeys.some((key) => text.includes(key))) quit()
  }

  function leave(): void {
    stdout.write(leaveScreen)
  }

  stdout.write(enterScreen)
  stdout.on('resize', resized)
  process.once('exit', leave)
  if (stdin.isTTY) stdin.setRawMode(true).on('data', pressed).resume()
  return {
    draw: (next) => {
      make = next
      frame()
    },
    [Symbol.dispose]: () => {
      stdout.off('resize', resized)
      process.off('exit', leave)
      if (stdin.isTTY) stdin.setRawMode(false).off('data', pressed).pause()
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
