import { type Paint, paintFor, wrapped } from './render/text.ts'

/** Where a command's words go: its result on stdout, everything else on stderr. */
export type Output = {
  readonly json: boolean
  /** True where stderr has no reader who waits: with --json. */
  readonly quiet: boolean
  /** Personal values are shown to who asks for them, in a document or on a terminal; a log file or a pipe gets none. */
  mayShowValues(options: { readonly showValues?: boolean }): boolean
  /** Prints the result: with --json the document itself and nothing else, otherwise what `render` makes of it. */
  result<T>(document: T, render: (document: T, paint: Paint) => string): void
  /** Prints a remark for the person at the terminal. */
  note(text: string): void
  /** For what is written to stderr. */
  readonly paint: Paint
}

export function createOutput({ json }: { json: boolean }): Output {
  return {
    json,
    quiet: json && !process.stderr.isTTY,
    mayShowValues: ({ showValues = false }) => showValues && (json || process.stdout.isTTY),
    result: (document, render) => {
      process.stdout.write(rendered(document, render, { json }))
    },
    note: (text) => {
      process.stderr.write(`${fitting(text, process.stderr)}\n`)
    },
    paint: paintFor(process.stderr),
  }
}

/** A result as it is printed: with --json the document itself, otherwise what `render` makes of it. */
export function rendered<T>(
  document: T,
  render: (document: T, paint: Paint) => string,
  { json }: { json: boolean },
): string {
  if (json) return `${JSON.stringify(document, null, 2)}\n`
  return `${fitting(render(document, paintFor(process.stdout)), process.stdout)}\n`
}

/** A terminal breaks long lines inside of words; a file or a pipe is given them whole. */
function fitting(text: string, stream: NodeJS.WriteStream): string {
  return stream.isTTY ? wrapped(text, stream.columns) : text
}
