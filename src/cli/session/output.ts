import { type Paint, type Printer, standardError, standardOutput } from '../../text/print.ts'
import { jsonText } from '../../text/escape.ts'
import { wrapped } from '../render/text.ts'
import { pasteable } from './hints.ts'

/** Where a command's words go: its result on stdout, everything else on stderr. */
export type Output = {
  readonly json: boolean
  /** True where stderr has no reader who waits: with --json. */
  readonly quiet: boolean
  /** Personal values are shown to who asks for them, in a document or on a terminal; a log file or a pipe gets none. */
  mayShowValues(options: { readonly showValues?: boolean }): boolean
  /** Prints the result: with --json the document itself and nothing else, otherwise what `render` makes of it. */
  printResult<T>(document: T, render: (document: T, paint: Paint) => string): void
  /** Prints a piece of what is printed for people while a command goes on: nothing with --json. */
  printPart(text: string): void
  /** Prints a remark for the person at the terminal. */
  printMessage(text: string): void
  /** For what is written to stderr. */
  readonly paint: Paint
}

type OutputOptions = {
  readonly json?: boolean
  /** What --config named, so that a command in a hint can be pasted. */
  readonly config?: string
}

/** Creates the output of a command. With `json`, stdout gets one JSON document only. */
export function createOutput({ json = false, config }: OutputOptions): Output {
  return {
    json,
    quiet: json && !standardError.isTerminal,
    mayShowValues: ({ showValues = false }) => showValues && (json || standardOutput.isTerminal),
    printResult: (document, render) => {
      if (json) standardOutput.print(jsonText(document))
      else {
        const text = pasteable(render(document, standardOutput.paint), { config })
        standardOutput.print(`${fitting(text, standardOutput)}\n`)
      }
    },
    printPart: (text) => {
      if (!json) standardOutput.print(`${pasteable(text, { config })}\n`)
    },
    printMessage: (text) => {
      standardError.print(`${fitting(pasteable(text, { config }), standardError)}\n`)
    },
    paint: standardError.paint,
  }
}

/** A terminal breaks long lines inside of words; a file or a pipe is given them whole. */
function fitting(text: string, { columns }: Printer): string {
  return columns === null ? text : wrapped(text, columns)
}
