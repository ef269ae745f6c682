import { parse } from 'node:querystring'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { refuse } from '../refusal.ts'
import { expectsList, parseParameter } from '../text.ts'

type Entry = ReturnType<FormData['getAll']>[number]

/**
 * Lets the routes of a scope also accept their body as a form: each field as the schema expects it, and files as `File`. A list is a
 * repeated field, with or without brackets after its name, or one field of JSON.
 */
export function acceptForms(scope: FastifyInstance, body: z.ZodObject): void {
  scope.addContentTypeParser(
    'multipart/form-data',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, bytes: Buffer) =>
      readForm(body, await formOf(bytes, request.headers['content-type'] ?? '')),
  )
}

/** Lets the routes of a scope accept forms of pages: text fields with at most this many bytes in total. A repeated field is a list. */
export function acceptPageForms(scope: FastifyInstance, bodyLimit: number): void {
  scope.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit },
    // The bytes are limited, so the fields need not be.
    async (_request: FastifyRequest, form: string) => parse(form, '&', '=', { maxKeys: 0 }),
  )
}

async function formOf(bytes: Buffer, type: string): Promise<FormData> {
  try {
    return await new Response(new Uint8Array(bytes), { headers: { 'content-type': type } }).formData()
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause
    throw refuse('MalformedBody', 'the body is not the form that it claims to be')
  }
}

function readForm(body: z.ZodObject, form: FormData): Record<string, unknown> {
  const fields = Object.entries(body.shape).map(([name, schema]) => {
    const entries = [...form.getAll(name), ...form.getAll(`${name}[]`)]
    if (entries.some(isBroken)) throw refuse('MalformedBody', `${name}: is not encoded as UTF-8`)
    return [name, expectsList(schema) ? entries.flatMap((entry) => readEntries(schema, entry)) : entries] as const
  })
  return Object.fromEntries(
    fields
      .filter(([, entries]) => entries.length > 0)
      .map(([name, entries]) => [name, expectsList(body.shape[name]) || entries.length > 1 ? entries : entries[0]]),
  )
}

// The character that decoding puts in place of invalid bytes.
function isBroken(entry: Entry): boolean {
  return typeof entry === 'string' && entry.includes('\ufffd')
}

function readEntries(list: z.core.$ZodType, entry: Entry): unknown[] {
  if (typeof entry !== 'string') return [entry]
  if (!/^\s*[[{]/.test(entry)) return [parseParameter(list, [entry])].flat()
  try {
    return [JSON.parse(entry)].flat()
  } catch {
    return [entry]
  }
}
