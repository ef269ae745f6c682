import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { lineAt, matches, source } from './helpers/imports.ts'

/** Words that name nothing: a reader learns from a noun or a verb of the field what a value is. As a name, or as its first or last word. */
const vague = ['told', 'tell', 'said', 'asked', 'doing', 'spare', 'standing', 'glance', 'unserved', 'sighting']
/** Words that are plain as a part of a name, and name nothing alone. */
const vagueAlone = ['some', 'found', 'place', 'way', 'what', 'says', 'settle', 'heard']

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
  expect(vagueNames("const told = 1 // said\nfind(what, rows.some(f), 'asked', toldWhat, tellings, hasFound)")).toEqual(
    ['1 told', '2 what', '2 toldWhat'],
  )
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

/** Vague names with their lines, outside of comments and texts. */
function vagueNames(text: string): string[] {
  const code = text.replaceAll(/\/\*.*?\*\/|(?<![:'\\])\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/gs, (part) =>
    part.replaceAll(/[^\n]/g, ' '),
  )
  return matches(code, /(?<![.\w$])([A-Za-z]\w*)/g).flatMap(({ index, groups: [name = ''] }) => {
    const words = name.split(/(?<=[a-z0-9])(?=[A-Z])/).map((word) => word.toLowerCase())
    const isVague = words.length === 1 ? vagueAlone.includes(words[0] ?? '') : false
    return isVague || vague.includes(words[0] ?? '') || vague.includes(words.at(-1) ?? '')
      ? [`${lineAt(code, index)} ${name}`]
      : []
  })
}
