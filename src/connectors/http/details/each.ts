import type { Each } from '../settings/details.ts'
import type { HttpSource } from '../settings/settings.ts'
import {
  type DetailRequest,
  type DetailSource,
  type DetailTools,
  type FoundDetails,
  foundDetails,
} from './detail-source.ts'
import { findInBatches } from './each-batch.ts'
import { detailsIn, type EachRequester, openRequester } from './each-requests.ts'

/** With these statuses a server says that it has nothing about a record. */
const absentStatuses = [204, 404, 410]

/** Sends requests for the records that are looked up: one for each of them, or one for each batch. */
export async function openEach(
  source: HttpSource,
  location: { readonly each: Each; readonly index: number },
  tools: DetailTools,
): Promise<DetailSource> {
  const { as, take, batch } = location.each
  const requester = await openRequester(source, location, tools)
  return {
    as,
    take,
    batchSize: batch?.size ?? 1,
    find: (requests) =>
      batch ? findInBatches(requester, batch, requests) : requests.map((request) => findAlone(requester, request)),
    summarize: requester.summarize,
    [Symbol.asyncDispose]: async () => {},
  }
}

async function findAlone(requester: EachRequester, { cells, position }: DetailRequest): Promise<FoundDetails> {
  const { each, address, blankColumn, send, checkWhole } = requester
  const blank = blankColumn(cells)
  if (blank !== null) return { absence: `it has nothing in ${blank}` }
  const label = `${address} for ${position}`
  const answer = await send(cells, { acceptedStatuses: absentStatuses, label })
  if (typeof answer === 'number') return { absence: `${address} answers with status ${answer}` }
  const details = detailsIn(answer.content, each, label)
  checkWhole({ ...answer, records: details })
  return foundDetails(details, `${address} holds nothing about it`)
}
