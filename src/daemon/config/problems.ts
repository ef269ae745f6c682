import { Failure } from '../../errors.ts'
import type { ConfigDocument, Path, Problem } from './document.ts'

/** A problem with the setting at a path, at its position in the document. */
export function problemAt(document: ConfigDocument, path: Path, message: string): Problem {
  return { ...document.positionOf(path), message: `${path.join('.')}: ${message}` }
}

/** Throws `config_invalid` with a line for each problem, in the order of their positions; returns if there is none. */
export function refuseProblems(file: string, problems: readonly Problem[]): void {
  if (problems.length === 0) return
  const lines = problems
    .toSorted((a, b) => a.line - b.line || a.column - b.column)
    .map((problem) => problemLine(file, problem))
  throw new Failure('config_invalid', lines)
}

/** A problem as one line: file, line, column and message. */
export function problemLine(file: string, { line, column, message }: Problem): string {
  return `${file}:${line}:${column}: ${message}`
}
