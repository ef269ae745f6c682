import { resolve } from 'node:path'
import { Failure } from '../../errors.ts'
import { readProblem, readRegular } from '../../system/regular-file.ts'

/** A part of a text: the text itself, or a file whose content it is. */
export type TextPart = { readonly text: string } | { readonly file: string }

type ResolvedText = { readonly parts: readonly TextPart[]; readonly problem?: string }

const reference = /\$\{([^}]*)\}/g
const fromEnvironment = /^env:([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s
const fromFile = /^file:(.+)$/s

/** Whether a text holds `${…}`. */
export function holdsReference(text: string): boolean {
  return text.includes('${')
}

/** Splits a text at its `${env:NAME}`, `${env:NAME:-default}` and `${file:PATH}`; files are relative to `folder`. */
export function resolveReferences(
  text: string,
  { env, folder }: { readonly env: NodeJS.ProcessEnv; readonly folder: string },
): ResolvedText {
  const parts: TextPart[] = []
  let from = 0
  for (const match of text.matchAll(reference)) {
    const part = resolveOne(match[1] ?? '', { env, folder })
    if ('problem' in part) return { parts: [], problem: part.problem }
    parts.push({ text: text.slice(from, match.index) }, part)
    from = match.index + match[0].length
  }
  const rest = text.slice(from)
  if (holdsReference(rest)) return { parts: [], problem: `a reference that opens with \${ is not closed with }` }
  return { parts: [...parts, { text: rest }] }
}

/** The names in the references of a text: variables of the environment, and files as written. */
export function namesIn(text: string): { readonly kind: 'environment' | 'secret_file'; readonly name: string }[] {
  return [...text.matchAll(reference)].map(([, words = '']) => {
    const variable = fromEnvironment.exec(words)?.[1]
    if (variable !== undefined) return { kind: 'environment', name: variable }
    return { kind: 'secret_file', name: fromFile.exec(words)?.[1] ?? words }
  })
}

/** The full text. One line end at the end of a file is not part of its content. */
export async function readReferences(parts: readonly TextPart[]): Promise<string> {
  const texts = await Promise.all(parts.map((part) => ('text' in part ? part.text : contentOf(part.file))))
  return texts.join('')
}

function resolveOne(
  words: string,
  { env, folder }: { readonly env: NodeJS.ProcessEnv; readonly folder: string },
): TextPart | { readonly problem: string } {
  const [, name, fallback] = fromEnvironment.exec(words) ?? []
  if (name !== undefined) {
    const text = env[name] || fallback
    if (text !== undefined) return { text }
    return {
      problem: `the environment variable ${name} is not set, or is empty: set it, or write \${env:${name}:-default}`,
    }
  }
  const [, path] = fromFile.exec(words) ?? []
  if (path !== undefined) return { file: resolve(folder, path) }
  return { problem: `unknown reference \${${words}}: write \${env:NAME}, \${env:NAME:-default} or \${file:PATH}` }
}

async function contentOf(file: string): Promise<string> {
  try {
    return (await readRegular(file)).replace(/\r?\n$/, '')
  } catch (error) {
    const problem = readProblem(error, 'create it, or let the account that runs Rollcall read it')
    throw new Failure('config_invalid', `cannot read the file ${file}${problem}`, { cause: error })
  }
}
