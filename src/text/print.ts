import { randomInt } from 'node:crypto'
import { Writable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { styleText } from 'node:util'
import { jsonText, visibleJson, visibleLines } from './visible.ts'

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
 * Colours travel through a text with a number that is drawn at each start. No text from outside knows it, so that the printer lets
 * through the colours that are ours and no other sequence of a terminal.
 */
const ours = Array.from({ length: 3 }, () => String(randomInt(10_000)).padStart(4, '0')).join(';')
const ourColours = new RegExp(String.raw`(\x1b\[\d{1,2});${ours}m`)
const emptyLine = '\r\u001b[K'

export const standardOutput: Printer = printer(() => process.stdout)
export const standardError: Printer = printer(() => process.stderr)

/** Prints a document for a program: the same values, with everything that a reader could not see as an escape. */
export function printJson(document: unknown): void {
  standardOutput.print(jsonText(document))
}

/** The standard output for a JSON document that is too large to be held whole. */
export function jsonOutput(): Writable {
  const decoder = new StringDecoder('utf8')
  return new Writable({
    decodeStrings: false,
    write: (piece: string | Buffer, _encoding, done) => {
      const text = typeof piece === 'string' ? piece : decoder.write(piece)
      process.stdout.write(visibleJson(text), done)
    },
  })
}

/** Asks the person at the terminal. */
export async function ask(question: string, signal: AbortSignal): Promise<string> {
  const { createInterface } = await import('node:readline/promises')
  using prompt = createInterface({ input: process.stdin, output: process.stderr })
  return await prompt.question(printable(question), { signal })
}

/** Text as it may reach a terminal, a pipe or a file: all signs can be seen, and the colours are ours. */
export function printable(text: string): string {
  return text
    .split(ourColours)
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
  return colour.replace(/m$/, `;${ours}m`)
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
