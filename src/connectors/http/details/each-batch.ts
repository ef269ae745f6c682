import { pluralize } from '../../../identity/pluralize.ts'
import { unreadable } from '../../file/failures.ts'
import { type JsonValue, pointer } from '../../json/cells.ts'
import { memberAt } from '../../json/members.ts'
import type { Each } from '../settings/details.ts'
import { type DetailRequest, type FoundDetails, foundDetails } from './detail-source.ts'
import { detailsIn, type EachRequester } from './each-requests.ts'

type Batch = NonNullable<Each['batch']>

/** The answers about the records of a batch, by key. */
type Answers = ReadonlyMap<string, JsonValue>

/** The details of some records, with one request for each batch of them. Records with the same key share an answer. */
export function findInBatches(
  requester: EachRequester,
  batch: Batch,
  requests: readonly DetailRequest[],
): readonly Promise<FoundDetails>[] {
  const isAskable = ({ cells }: DetailRequest) => requester.blankColumn(cells) === null
  const byKey = new Map(requests.filter(isAskable).map((request) => [keyOf(request, batch), request]))
  const answers = new Map<string, Promise<Answers>>()
  const keyed = [...byKey]
  for (let start = 0; start < keyed.length; start += batch.size) {
    const part = new Map(keyed.slice(start, start + batch.size))
    const answer = fetchBatch(requester, batch, part)
    for (const key of part.keys()) answers.set(key, answer)
  }
  return requests.map(async (request) => {
    const blank = requester.blankColumn(request.cells)
    if (blank !== null) return { absence: `it has nothing in ${blank}` }
    const key = keyOf(request, batch)
    const answer = (await answers.get(key))?.get(key) ?? null
    const { address, each } = requester
    return foundDetails(
      detailsIn(answer, each, `${address} for ${request.position}`),
      `${address} holds nothing about it`,
    )
  })
}

function keyOf({ cells }: DetailRequest, { with: column }: Batch): string {
  return cells.get(column) ?? ''
}

/** Asks about the records of one batch. Refuses an answer that does not answer each of them exactly once. */
async function fetchBatch(
  { address, bodyFor, send, checkWhole }: EachRequester,
  batch: Batch,
  byKey: ReadonlyMap<string, DetailRequest>,
): Promise<Answers> {
  const [first, ...others] = byKey.values()
  if (!first) return new Map()
  const entries = [first, ...others].flatMap(({ cells }) => entryOf(bodyFor(cells), batch))
  const label = `${address} for ${first.position}${others.length > 0 ? ` and ${others.length} more` : ''}`
  const answer = await send(first.cells, { batch: { list: batch.list, entries }, label })
  if (typeof answer === 'number') throw new Error(`status ${answer} is no answer`)
  const records = pointer(answer.content, batch.answers)
  if (!Array.isArray(records))
    throw unreadable(`${label}: expected a list of answers at ${batch.answers}`, 'check answers below batch')
  checkWhole({ ...answer, records })
  return answersByKey(records, { batch, byKey, label })
}

function entryOf(body: ReturnType<EachRequester['bodyFor']>, { list }: Batch) {
  const entries = body === undefined ? undefined : memberAt(body, list)
  return Array.isArray(entries) ? entries : []
}

type AnswerContext = {
  readonly batch: Batch
  readonly byKey: ReadonlyMap<string, DetailRequest>
  readonly label: string
}

function answersByKey(records: readonly JsonValue[], { batch, byKey, label }: AnswerContext): Answers {
  const answers = new Map<string, JsonValue>()
  for (const record of records) {
    const key = pointer(record, batch.on)
    if (typeof key !== 'string')
      throw unreadable(`${label}: an answer has no key at ${batch.on}`, 'check on below batch')
    if (!byKey.has(key))
      throw unreadable(`${label}: an answer is about a record that was not asked for`, 'check on and with below batch')
    if (answers.has(key)) throw unreadable(`${label}: two answers are about the same record`, 'check the server')
    answers.set(key, record)
  }
  if (answers.size === byKey.size) return answers
  const missing = pluralize(byKey.size - answers.size, 'record')
  throw unreadable(
    `${label}: ${missing} of ${byKey.size} got no answer`,
    'check the server, or ask for fewer at once with size below batch',
  )
}
