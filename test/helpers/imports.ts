import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export const source = fileURLToPath(new URL('../../src/', import.meta.url))

export type Import = { readonly specifier: string; readonly line: number }

/** What a file imports, in the order of the kinds of import. */
export function importsOf(text: string): Import[] {
  const statements = matches(text, /^(?:import|export)\b[^'"`;]*?\bfrom\s*'([^']+)'|^import\s*'([^']+)'/gm)
  const calls = matches(text, /\bimport\(\s*'([^']+)'\s*\)/g)
  return [...statements, ...calls].map(({ index, groups }) => ({
    specifier: groups.find((group) => group !== undefined) ?? '',
    line: lineAt(text, index),
  }))
}

/** The files of ours that a file imports, relative to src/. */
export function targetsOf(file: string, text: string): string[] {
  return importsOf(text).flatMap(({ specifier }) => (specifier.startsWith('.') ? [targetOf(file, specifier)] : []))
}

export function targetOf(file: string, specifier: string): string {
  return relative(source, join(source, dirname(file), specifier))
}

export function matches(text: string, pattern: RegExp): { index: number; groups: (string | undefined)[] }[] {
  return [...text.matchAll(pattern)].map((match) => ({ index: match.index, groups: match.slice(1) }))
}

export function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length
}
