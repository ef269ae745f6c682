import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { lineAt, matches, source } from './helpers/imports.ts'

/** Words that name nothing: a reader learns from a noun or a verb of the field what a value is. As a name, or as its first or last word. */
const vague = ['told', 'tell', 'said', 'asked', 'doing', 'spare', 'standing', 'glance', 'unserved', 'sighting']
/** Words that are plain as a part of a name, and name nothing alone. */
const vagueAlone = ['some', 'found', 'place', 'what', 'settle', 'heard']

test('every exported symbol of src/ has a docstring', async () => {
  const files = await textsOf('**/*.ts')

  expect(files.flatMap(([file, text]) => undocumented(text).map((name) => `src/${file}: ${name}`))).toEqual([])
})

test('no name in src/ and test/ is a word that names nothing', async () => {
  const files = await textsOf('**/*.ts', '../test/**/*.ts')

  expect(files.flatMap(([file, text]) => vagueNames(text).map((name) => `${file}:${name}`))).toEqual([])
})

test('a missing docstring and a vague name are found', () => {
  const documented =
    '/** A run. */\nexport type Run = string\n/** Two forms. */\nexport function f(): void\nexport function f() {}'
  const inferred = '/** A plan. */\nexport const Plan = z.object({})\nexport type Plan = z.infer<typeof Plan>'
  const bare = '\nexport const row = 1\n// No docstring.\nexport async function read() {}'

  expect([documented, inferred, bare].map(undocumented)).toEqual([[], [], ['row', 'read']])
  expect(
    vagueNames("const told = 1 // said\nfind(what, rows.some(f), 'asked', `some ${toldWhat} way`, told: 1, hasFound)"),
  ).toEqual(['1 told', '2 what', '2 toldWhat'])
})

async function textsOf(...patterns: readonly string[]): Promise<(readonly [file: string, text: string])[]> {
  const files = await Promise.all(patterns.map((pattern) => Array.fromAsync(glob(pattern, { cwd: source }))))
  return Promise.all(
    files
      .flat()
      .sort()
      .map(async (file) => [file, await readFile(join(source, file), 'utf8')] as const),
  )
}

/** Exported names without a docstring. The type of a schema has that of the schema, and an overload that of the first form. */
function undocumented(text: string): string[] {
  const declared = matches(text, /(\*\/\n)?^export (?:async )?(?:function\*?|const|class|type|interface) (\w+)/gm)
  const known = new Set<string>()
  return declared.flatMap(({ groups: [docstring, name = ''] }) => {
    const isDocumented = docstring !== undefined || known.has(name)
    known.add(name)
    return isDocumented ? [] : [name]
  })
}

/** Names of values and types that are vague, with their lines. A key of an object may be a word of a public interface. */
function vagueNames(text: string): string[] {
  return matches(codeOf(text), /(?<![.\w$])([A-Za-z]\w*)\b(?!\s*\??:)/g).flatMap(({ index, groups: [name = ''] }) => {
    const words = name.split(/(?<=[a-z0-9])(?=[A-Z])/).map((word) => word.toLowerCase())
    const [first = '', last = ''] = [words[0], words.at(-1)]
    const isVague = vague.includes(first) || vague.includes(last) || (words.length === 1 && vagueAlone.includes(first))
    return isVague ? [`${lineAt(text, index)} ${name}`] : []
  })
}

/** The code without its comments, texts and patterns; what stands in `${}` of a text stays. */
function codeOf(text: string): string {
  const token =
    /(?<blank>\/\*.*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|(?<=[(,=:[!&|?\n] *)\/(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/)|[{}`]/gsy
  const restOfText = /(?:[^`$\\]|\\.|\$(?!\{))*(?<end>`|\$\{)/gsy
  // The open braces of each `${}` around the place.
  const braces = [0]
  let code = ''
  let at = 0
  const take = (part: string, isBlank: boolean) => {
    code += isBlank ? part.replaceAll(/[^\n]/g, ' ') : part
    at += part.length
  }
  while (at < text.length) {
    token.lastIndex = at
    const [part = text.charAt(at), blank] = token.exec(text) ?? []
    const endsValue = part === '}' && braces.at(-1) === 0
    take(part, blank !== undefined)
    if (endsValue) braces.pop()
    else if (part === '{' || part === '}') braces.push((braces.pop() ?? 0) + (part === '{' ? 1 : -1))
    if (part !== '`' && !endsValue) continue
    restOfText.lastIndex = at
    const [rest = '', end] = restOfText.exec(text) ?? []
    take(rest, true)
    if (end === '${') braces.push(0)
  }
  return code
}
