import { jsonText } from '../../text/escape.ts'
import { type Paint, type Printer, standardError, standardOutput } from '../../text/print.ts'
import { wrapLines } from '../render/text.ts'
import { pasteable } from './hints.ts'

/** Where the output of a command goes: its result to stdout, everything else to stderr. */
export type Output = {
  readonly json: boolean
  /** True with --json if stderr is no terminal: nobody reads messages while the command runs. */
  readonly quiet: boolean
  /** Whether personal values are shown: on request, in a document or on a terminal; never in a log file or a pipe. */
  mayShowValues(options: { readonly showValues?: boolean }): boolean
  /** Prints the result: with --json the document itself and nothing else, otherwise the text from `render`. */
  printResult<T>(document: T, render: (document: T, paint: Paint) => string): void
  /** Prints a part of the output for people while a command runs: nothing with --json. */
  printPart(text: string): void
  /** Prints a remark for the person at the terminal. */
  printMessage(text: string): void
  /** For what is written to stderr. */
  readonly paint: Paint
}

type OutputOptions = {
  readonly json?: boolean
  /** The file that --config named, so that a command in a hint can be pasted. */
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
        standardOutput.print(`${fitToTerminal(text, standardOutput)}\n`)
      }
    },
    printPart: (text) => {
      if (!json) standardOutput.print(`${pasteable(text, { config })}\n`)
    },
    printMessage: (text) => {
      standardError.print(`${fitToTerminal(pasteable(text, { config }), standardError)}\n`)
    },
    paint: standardError.paint,
  }
}

/** A terminal breaks long lines inside of words; a file or a pipe gets whole lines. */
function fitToTerminal(text: string, { columns }: Printer): string {
  return columns === null ? text : wrapLines(text, columns)
}
