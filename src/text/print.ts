import { styleText } from 'node:util'
import { jsonText, visibleLines } from './visible.ts'

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan' | 'gray'

/** Colours a piece of text, or leaves it as it is where colours have no place. */
export type Paint = (style: Style, text: string) => string

/** One of the two ways to the person or the program that started the command. Nothing else of ours writes there. */
export type Printer = {
  readonly isTerminal: boolean
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

/** Prints a document for a program: the same values, with everything that a reader could not see as an escape. */
export function printJson(document: unknown): void {
  standardOutput.print(jsonText(document))
}

/** Asks the person at the terminal. */
export async function ask(question: string, signal: AbortSignal): Promise<string> {
  const { createInterface } = await import('node:readline/promises')
  using prompt = createInterface({ input: process.stdin, output: process.stderr })
  return await prompt.question(printable(question), { signal })
}

/** Text as it may reach a terminal, a pipe or a file: all signs can be seen, and the colours are ours. */
export function printable(text: string): string {
  if (ours === null) return visibleLines(text)
  return text
    .split(ours.colours)
    .map((piece, at) => (at % 2 === 1 ? `${piece}m` : visibleLines(piece)))
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

function printer(stream: () => NodeJS.WriteStream): Printer {
  return {
    get isTerminal() {
      return stream().isTTY === true
    },
    get columns() {
      // A terminal that does not know its width says 0.
      return (stream().isTTY && stream().columns) || null
    },
    paint: (style, text) => paintFor(stream())(style, text),
    print: (text) => {
      stream().write(printable(text))
    },
    replaceLine: (line) => {
      stream().write(`${emptyLine}${printable(line)}`)
    },
  }
}
