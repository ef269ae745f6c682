import { unreadable } from '../../file/failures.ts'
import { type JsonValue, readJson } from '../../json/cells.ts'
import { recordsAt } from '../../json/records-at.ts'
import { checkContentType, type ResponseHeaders } from '../client/body.ts'
import type { HttpResponse } from '../client/client.ts'
import type { HttpSource } from '../settings/settings.ts'

/** One page of a list as the server sent it. */
export type ListPage = {
  readonly url: URL
  readonly headers: ResponseHeaders
  /** The whole body. */
  readonly content: JsonValue
  /** The records in it. */
  readonly records: readonly JsonValue[]
  readonly bytes: Buffer
  /** The name of the page in failures. */
  readonly label: string
}

/** Reads a response as a page of the list. Refuses a body that is too large, is no JSON, or has no list at `records`. */
export async function readPage(
  list: Pick<HttpSource, 'records' | 'maxPageBytes'>,
  response: HttpResponse,
  label: string,
): Promise<ListPage> {
  const answer = await readAnswer(list, response, label)
  return { ...answer, records: recordsAt(answer.content, list.records, label) }
}

/** Reads a response as JSON. Refuses a body that is too large or is no JSON. */
export async function readAnswer(
  { maxPageBytes }: Pick<HttpSource, 'maxPageBytes'>,
  response: HttpResponse,
  label: string,
): Promise<Omit<ListPage, 'records'>> {
  const { url, headers } = response
  checkContentType(headers, 'json', label)
  const bytes = await readBody(response, maxPageBytes, label)
  return { url, headers, content: readJson(bytes, { name: label }), bytes, label }
}

async function readBody({ body }: HttpResponse, maxPageBytes: number, label: string): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    if (length > maxPageBytes)
      throw unreadable(`${label} is longer than ${maxPageBytes} bytes`, 'ask for smaller pages, or raise maxPageBytes')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** The time in the header Last-Modified; NaN if there is none. */
export function lastModifiedMs(headers: ResponseHeaders): number {
  return Date.parse(String(headers['last-modified']))
}
