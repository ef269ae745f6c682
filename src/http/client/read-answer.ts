import type { Dispatcher } from 'undici'
import { z } from 'zod'
import type { Operation } from '../../contract/operation.ts'
import { describeIssues } from '../issues.ts'
import type { AnswerError, AnyAnswer, Unreachable, Unreadable } from './answer.ts'
import { retryAfterMs } from './retry-after.ts'

type Response = Dispatcher.ResponseData

type ReadOptions = {
  readonly maxBytes: number
  /** The answer if the caller or the timeout stopped the reading; null if the body broke off by itself. */
  readonly stopped: (error: unknown) => Unreachable | null
}

type Body = { readonly text: string } | { readonly fault: string } | Unreachable
type ParsedBody<T> = { readonly data: T } | { readonly fault: string }

const shownMediaTypeLength = 60

const ErrorBody = z.object({
  message: z.union([z.string(), z.array(z.string()).transform((lines) => lines.join('; '))]),
  code: z.number().nullish().catch(null),
  name: z.string().nullish().catch(null),
})

/** Interprets a response by its operation. */
export async function readAnswer(operation: Operation, response: Response, options: ReadOptions): Promise<AnyAnswer> {
  const { statusCode: status, headers } = response
  const success = operation.success[status]
  const body = await readBody(response, options)
  if (success === undefined && !operation.errors.includes(status)) return undeclaredAnswer(response, body)
  if (success === null) return { status, headers }
  if ('status' in body) return body
  if ('fault' in body) return unreadableAnswer(response, body.fault)
  if (success === undefined) return listedError(response, body.text)
  const parsed = parseJson(success, body.text)
  return 'fault' in parsed ? unreadableAnswer(response, parsed.fault) : { status, body: parsed.data, headers }
}

function listedError(response: Response, text: string): AnyAnswer {
  const parsed = parseJson(ErrorBody, text)
  if ('fault' in parsed) return unreadableAnswer(response, parsed.fault)
  return { status: response.statusCode, error: answerError(parsed.data), headers: response.headers }
}

// The status alone determines the meaning of an undeclared response. Its body is optional.
function undeclaredAnswer({ statusCode, headers }: Response, body: Body): AnyAnswer {
  const parsed = 'text' in body ? parseJson(ErrorBody, body.text) : { fault: 'no body' }
  const error =
    'data' in parsed
      ? answerError(parsed.data)
      : { message: `answered with status ${statusCode} and no message`, code: null, name: null }
  return { status: 'undeclared', httpStatus: statusCode, error, retryAfterMs: retryAfterMs(headers) }
}

function unreadableAnswer({ statusCode, headers }: Response, fault: string): Unreadable {
  const mediaType = String(headers['content-type'] ?? 'none').slice(0, shownMediaTypeLength)
  return { status: 'unreadable', httpStatus: statusCode, reason: `${fault} (content type: ${mediaType})` }
}

function answerError({ message, code, name }: z.output<typeof ErrorBody>): AnswerError {
  return { message, code: code ?? null, name: name ?? null }
}

async function readBody({ body }: Response, { maxBytes, stopped }: ReadOptions): Promise<Body> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      bytes += chunk.byteLength
      // Leaving the loop destroys the stream, so the rest of the body is not downloaded.
      if (bytes > maxBytes) return { fault: `the body is larger than ${maxBytes} bytes` }
      chunks.push(chunk)
    }
  } catch (error) {
    return stopped(error) ?? { fault: `the body broke off after ${bytes} bytes` }
  }
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)) }
  } catch {
    return { fault: 'the body is not UTF-8' }
  }
}

function parseJson<S extends z.ZodType>(schema: S, text: string): ParsedBody<z.output<S>> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { fault: 'the body is not JSON' }
  }
  const parsed = schema.safeParse(value)
  return parsed.success
    ? { data: parsed.data }
    : { fault: `the body has the wrong shape: ${describeIssues(parsed.error)}` }
}
