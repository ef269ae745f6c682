import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readSeed } from '../../../src/platform/seed/file.ts'
import { createPostgresDatabase } from '../../helpers/servers/databases.ts'
import { openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

type Parameter = {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly required: boolean
  readonly example?: unknown
}
type Link = { readonly operationId: string; readonly parameters: Readonly<Record<string, string>> }
type Operation = {
  readonly operationId: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: {
    readonly content: {
      readonly 'application/json': { readonly examples?: Readonly<Record<string, { value: unknown }>> }
    }
  }
  readonly responses: Readonly<Record<string, { readonly links?: Readonly<Record<string, Link>> }>>
}
type Document = {
  readonly info: { readonly description: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}
type Shown = { readonly method: string; readonly path: string; readonly operation: Operation }

const seedFile = fileURLToPath(new URL('../../../config/platform-seed.yaml', import.meta.url))
const firstEntry = '$response.body#/data/0/id'

let opened: TestPlatform
let document: Document
let authorization: string

beforeAll(async () => {
  opened = await openTestPlatform(createPostgresDatabase)
  await opened.operator.seed({ body: await readSeed(seedFile) })
  const { key } = await opened.operator.createKey({
    body: { account: 'Acme', name: 'reader', permissions: 'all' },
  })
  authorization = `Bearer ${key}`
  document = (await (await fetch(`${opened.platform.baseUrl}/openapi.json`)).json()) as Document
})
afterAll(async () => {
  await opened[Symbol.asyncDispose]()
})

test('every example of the document succeeds on a platform with the seed that comes along', async () => {
  const answers: { name: string; declared: boolean; status: number; text: string }[] = []

  for (const shown of inOrder()) {
    for (const body of bodiesOf(shown)) {
      const { status, text } = await send(shown, body)
      const declared = status < 300 && String(status) in shown.operation.responses
      answers.push({ name: shown.operation.operationId, declared, status, text })
    }
  }

  expect(answers.filter(({ declared }) => !declared)).toEqual([])
  expect(new Set(answers.map(({ name }) => name)).size).toBe(everyOperation().length)
})

test.each(['# Keys', '# Lists and pages', '# Errors', '# Limits', '# Examples'])(
  'the document begins with an introduction that has "%s"',
  (heading) => {
    expect(document.info.description).toContain(heading)
  },
)

/** Operations that create come first, and those that delete come last, in the opposite order. */
function inOrder(): Shown[] {
  const of = (...methods: string[]) => everyOperation().filter(({ method }) => methods.includes(method))
  return [...of('post'), ...of('get', 'put'), ...of('delete').reverse()]
}

function everyOperation(): Shown[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  )
}

function bodiesOf({ operation: { requestBody, operationId } }: Shown): unknown[] {
  if (requestBody === undefined) return [undefined]
  const bodies = Object.values(requestBody.content['application/json'].examples ?? {}).map(({ value }) => value)
  if (bodies.length === 0) throw new Error(`${operationId} has no example of its body`)
  return bodies
}

async function send(shown: Shown, body: unknown): Promise<{ status: number; text: string }> {
  const query = new URLSearchParams()
  let path = shown.path
  for (const parameter of shown.operation.parameters ?? []) {
    if (parameter.in === 'path')
      path = path.replace(`{${parameter.name}}`, encodeURIComponent(await pathValueOf(shown, parameter)))
    else for (const value of [parameter.example ?? []].flat()) query.append(parameter.name, String(value))
  }
  const answer = await fetch(`${opened.platform.baseUrl}${path}?${query}`, {
    method: shown.method.toUpperCase(),
    headers: { authorization, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { status: answer.status, text: await answer.text() }
}

/** The example of a path parameter, or what a link of the document says that it is. */
async function pathValueOf({ operation }: Shown, { name, example }: Parameter): Promise<string> {
  if (example !== undefined) return String(example)
  const source = everyOperation().find(
    (list) => list.operation.responses['200']?.links?.[operation.operationId]?.parameters[name] === firstEntry,
  )
  if (source === undefined) throw new Error(`${operation.operationId} has no example of ${name}`)
  const { text } = await send(source, undefined)
  const [first] = (JSON.parse(text) as { data: { id: unknown }[] }).data
  return String(first?.id)
}
