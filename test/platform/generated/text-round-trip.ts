import type { RawClient, RawRequest } from '../helpers/raw-requests.ts'
import { bodyWith, type Field, valueAt } from './body-fields.ts'
import { fixtureOf } from './fixtures/areas.ts'
import type { Company } from './fixtures/fixture.ts'
import {
  type Call,
  everyList,
  everyOperation,
  isReading,
  type NamedOperation,
  suspicion,
  validCall,
} from './operations.ts'
import { fieldName, isAllowed, otherwiseOf } from './text-fields.ts'

/** The fields in which texts are written and read. */
export type Desk = { readonly http: RawClient; readonly company: Company; readonly named: NamedOperation }

/** The values read for a text, one for each field that it was written to. A field that cannot hold the text has none. */
export type ReadBack = { readonly text: string; readonly values: readonly unknown[] }

type Entry = Readonly<Record<string, unknown>>

const batch = 250
const fullPage = 500
const longestWord = 4

/**
 * Writes every text to all of the fields at once and reads it back. An operation that creates creates one object for each text, and all are
 * listed at the end. An operation that updates changes the same object repeatedly, with several longer texts at a time.
 */
export async function roundTrip(desk: Desk, fields: readonly Field[], texts: readonly string[]): Promise<ReadBack[]> {
  const { operation } = desk.named
  if (operation.method === 'PUT') return changeEach(desk, fields, packed(texts, fields))
  const made = operation.item ? await makeBatches(desk, fields, texts) : await makeEach(desk, fields, texts)
  const entries = await listed(desk)
  return made.map(({ text, id, written }) => ({ text, values: valuesIn(desk, written, entries.get(id)) }))
}

async function changeEach(desk: Desk, fields: readonly Field[], texts: readonly string[]): Promise<ReadBack[]> {
  const { http, company, named } = desk
  const reader = readerAt(named)
  const call = validCall(named, company.things)
  const reading = http.requestOf(reader, { ...validCall(reader, company.things), params: call.params }, company.key)
  const results: ReadBack[] = []
  for (const text of texts) {
    await succeed(desk, { ...requestOf(desk, call), body: bodyOf(call.body, fields, text) })
    results.push({ text, values: valuesIn(desk, fields, (await succeed(desk, reading)) as Entry) })
  }
  return results
}

async function makeEach(desk: Desk, fields: readonly Field[], texts: readonly string[]) {
  const call = validCall(desk.named, desk.company.things)
  return Promise.all(
    texts.map(async (text, number) => {
      const written = fields.filter((field) => isAllowed(desk.named, call.body, field, text))
      const others = fields.filter((field) => !written.includes(field))
      const rest = others.reduce<unknown>(
        (body, field) => JSON.parse(bodyWith(body, field.path, otherwiseOf(desk.named, field)?.(number))),
        call.body,
      )
      const made = await succeed(desk, { ...requestOf(desk, call), body: bodyOf(rest, written, text) })
      return { text, id: idOf(made), written }
    }),
  )
}

async function makeBatches(desk: Desk, fields: readonly Field[], texts: readonly string[]) {
  const call = validCall(desk.named, desk.company.things)
  const made: { text: string; id: unknown; written: readonly Field[] }[] = []
  for (let start = 0; start < texts.length; start += batch) {
    const part = texts.slice(start, start + batch)
    const items = part.map((text) => (JSON.parse(bodyOf(call.body, fields, text)) as unknown[])[0])
    const results = (await succeed(desk, { ...requestOf(desk, call), body: JSON.stringify(items) })) as unknown[]
    made.push(
      ...part.map((text, index) => {
        const { data } = (results[index] ?? {}) as { data?: unknown }
        return { text, id: idOf(data), written: fields }
      }),
    )
  }
  return made
}

/** The texts, with longer ones joined as far as the shortest limit of the fields allows. Short ones may mean something by themselves. */
function packed(texts: readonly string[], fields: readonly Field[]): string[] {
  const limit = Math.min(
    ...fields.flatMap(({ alternatives }) => alternatives.map(({ maxLength = Infinity }) => maxLength)),
  )
  const packs = texts.filter((text) => text.length <= longestWord)
  let pack = ''
  for (const text of texts.filter(({ length }) => length > longestWord)) {
    const joined = pack === '' ? text : `${pack}|${text}`
    if (joined.length > limit && pack !== '') packs.push(pack)
    pack = joined.length > limit ? text : joined
  }
  return pack === '' ? packs : [...packs, pack]
}

/** All entries of the list that belongs to the operation, by id. */
async function listed(desk: Desk): Promise<ReadonlyMap<unknown, Entry>> {
  const { http, company, named } = desk
  const { readBy } = fixtureOf(named.name)
  const list = everyList.find(({ name, operation }) =>
    readBy ? name === readBy : operation.path === named.operation.path,
  )
  if (!list) throw new Error(`no fixture for the texts of ${named.name}: no list has what it makes`)
  const { params, query } = validCall(list, company.things)
  const entries = new Map<unknown, Entry>()
  let cursor: string | undefined
  do {
    const page = { ...query, size: fullPage, ...(cursor !== undefined && { cursor }) }
    const answer = await succeed(desk, http.requestOf(list, { params, query: page }, company.key))
    const { data, pagination } = answer as { data: Entry[]; pagination: { cursor?: string } }
    for (const entry of data) entries.set(entry.id, entry)
    cursor = pagination.cursor
  } while (cursor !== undefined)
  return entries
}

function readerAt({ name, operation }: NamedOperation): NamedOperation {
  const { readBy } = fixtureOf(name)
  const reader = everyOperation.find((one) =>
    readBy ? one.name === readBy : isReading(one.operation) && one.operation.path === operation.path,
  )
  if (reader) return reader
  throw new Error(`no fixture for the texts of ${name}: nothing reads what it changes`)
}

function valuesIn({ named }: Desk, fields: readonly Field[], entry: Entry | undefined): unknown[] {
  const { texts = {} } = fixtureOf(named.name)
  const outer = named.operation.item ? 1 : 0
  return fields.map((field) => {
    const fate = texts[fieldName(field)]
    const path = fate && 'readAs' in fate ? fate.readAs.split('.') : field.path.slice(outer)
    return valueAt(entry, path)
  })
}

function bodyOf(valid: unknown, fields: readonly Field[], text: string): string {
  return fields.reduce((body, { path }) => bodyWith(JSON.parse(body), path, text), JSON.stringify(valid))
}

function requestOf({ http, named, company }: Desk, call: Call): RawRequest {
  return http.requestOf(named, call, company.key)
}

async function succeed({ http, named }: Desk, request: RawRequest): Promise<unknown> {
  const { status, text, body } = await http.ask(request)
  if (status < 300 && status !== 207) return body
  throw new Error(
    `${suspicion(named)}${request.method} ${request.path} ${request.body ?? ''} was answered with ${status} ${text}`,
  )
}

function idOf(made: unknown): unknown {
  return (made as { id?: unknown } | null | undefined)?.id
}
