import { z } from 'zod'
import { JsonPointer } from '../json-pointer.ts'
import { timeUnits } from './times.ts'

const placeholder = /(\{[^{}]*\})/
const visibleAscii = /^[\x21-\x7e]{1,256}$/
const fields = ['id', 'timestamp', 'body'] as const
type Field = (typeof fields)[number]

/** A part of the signed text: a field of the request, or literal text. */
type SignedPart = { readonly field: Field } | { readonly literal: string }

const HeaderName = z
  .string()
  .regex(/^[A-Za-z0-9-]{1,100}$/, { error: 'expected the name of a header: letters, digits and -' })

const PairName = z.string().regex(/^[A-Za-z0-9_-]{1,20}$/, { error: 'expected the name of a pair, such as v1' })

const Signature = z.strictObject({
  header: HeaderName.describe('The header that holds the signature, or the token.'),
  encoding: z
    .enum(['hex', 'hexUpper', 'base64', 'base64url'])
    .default('hex')
    .describe(
      'How the signature is written. hex is in lower case, hexUpper in upper case. The padding of base64 may be left out.',
    ),
  prefix: z.string().max(40).default('').describe('The text before each signature, such as sha256= or v1,'),
  publicKeyPrefix: z
    .string()
    .max(40)
    .optional()
    .describe(
      'The text before an ed25519 signature, for senders of both kinds. It belongs to secrets that begin with whpk_.',
    ),
  separator: z
    .string()
    .min(1)
    .max(5)
    .optional()
    .describe(
      'The text between several signatures in the header. Default: there is only one signature, or a comma if pair is set.',
    ),
  pair: PairName.optional().describe(
    'The name of the pairs that are signatures, if the header is a list of pairs such as t=1700000000,v1=5257…',
  ),
})

const Timestamp = z
  .strictObject({
    header: HeaderName.optional().describe('The header that holds the time.'),
    pair: PairName.optional().describe('The pair of the signature header that holds the time.'),
    unit: z
      .enum(timeUnits)
      .default('seconds')
      .describe('How the time is written: seconds or milliseconds since 1970, iso, or secondsOrIso.'),
  })
  .refine(({ header, pair }) => (header === undefined) !== (pair === undefined), {
    error: 'name either header or pair',
  })

const Id = z.union(
  [
    z.strictObject({ header: HeaderName.describe('The header that holds the id. It must be signed.') }),
    z.strictObject({ pointer: JsonPointer.describe('Where the body holds the id, such as /id.') }),
  ],
  { error: 'expected either header or pointer' },
)

/** How a sender of webhooks signs them. */
export const WebhookRecipe = z
  .strictObject({
    algorithm: z
      .enum(['sha256', 'sha512', 'ed25519', 'token'])
      .describe('HMAC with SHA-256 or SHA-512, an ed25519 signature, or a token that is sent as it is.'),
    signature: Signature.describe('Where the signature is.'),
    signed: z
      .string()
      .max(200)
      .default('{body}')
      .describe(
        'The text that is signed: {body}, with {id}, {timestamp} and literal text, as the sender combines them.',
      ),
    timestamp: Timestamp.optional().describe('Where the time of sending is. Every request must then have it.'),
    id: Id.optional().describe('Where the id of the event is.'),
    secretEncoding: z
      .enum(['utf8', 'base64', 'whsec', 'hex', 'pem'])
      .default('utf8')
      .describe(
        'How the secret is written: the text itself, base64, base64 after whsec_ (or whpk_ for a public key), hex, or PEM for a public key.',
      ),
    ping: z
      .array(z.string().min(1).max(200))
      .max(10)
      .default([])
      .describe('Bodies with which the sender tests the URL. They are answered and never stored.'),
  })
  .superRefine((recipe, context) => {
    for (const { path, message } of problemsOf(recipe)) context.addIssue({ code: 'custom', path, message })
  })

/** The parsed description of how a sender signs. */
export type WebhookRecipe = z.infer<typeof WebhookRecipe>

/** The parts of a template, in their order. */
export function signedParts(template: string): readonly SignedPart[] {
  return template
    .split(placeholder)
    .filter((piece) => piece !== '')
    .map((piece) => {
      const field = fields.find((name) => piece === `{${name}}`)
      return field === undefined ? { literal: piece } : { field }
    })
}

/**
 * Why an id cannot be signed with a template, or null. If an id contains the text that follows or precedes it in the template, another
 * id and another body could have the same signature.
 */
export function signedIdProblem(id: string, template: string): string | null {
  if (!visibleAscii.test(id)) return 'is no id of 1 to 256 visible ASCII characters'
  const separator = besideId(template).find((literal) => id.includes(literal))
  return separator === undefined ? null : `holds "${separator}", which is where an id ends`
}

function besideId(template: string): readonly string[] {
  const parts = signedParts(template)
  const index = parts.findIndex((part) => 'field' in part && part.field === 'id')
  return [parts[index - 1], parts[index + 1]].flatMap((part) => (part && 'literal' in part ? [part.literal] : []))
}

type Problem = { readonly path: string[]; readonly message: string }
type UncheckedRecipe = z.infer<typeof WebhookRecipe>

function problemsOf(recipe: UncheckedRecipe): readonly Problem[] {
  const { algorithm, signature, signed, timestamp, id, secretEncoding } = recipe
  const isToken = algorithm === 'token'
  const isKeyPair = algorithm === 'ed25519'
  const isInHeader = id !== undefined && 'header' in id

  const rules: readonly (Problem & { readonly broken: boolean })[] = [
    {
      broken: isToken && (signed !== '{body}' || timestamp !== undefined || isInHeader),
      path: ['algorithm'],
      message: 'a token signs nothing: leave out signed, timestamp and id.header',
    },
    {
      broken: isToken && secretEncoding !== 'utf8',
      path: ['secretEncoding'],
      message: 'a token is compared as it is: expected utf8',
    },
    {
      broken: !isKeyPair && secretEncoding === 'pem',
      path: ['secretEncoding'],
      message: 'pem holds a public key, for ed25519 only',
    },
    {
      broken: isKeyPair && secretEncoding === 'utf8',
      path: ['secretEncoding'],
      message: 'an ed25519 key is written as base64, whsec, hex or pem',
    },
    {
      broken: timestamp?.pair !== undefined && signature.pair === undefined,
      path: ['timestamp', 'pair'],
      message: 'a pair needs signature.pair beside it',
    },
  ]
  return [...rules.filter(({ broken }) => broken), ...(isToken ? [] : templateProblems(recipe))]
}

function templateProblems({ signed, timestamp, id }: UncheckedRecipe): readonly Problem[] {
  const parts = signedParts(signed)
  const counts = Object.fromEntries(
    fields.map((name) => [name, parts.filter((part) => 'field' in part && part.field === name).length]),
  )
  const { id: ids = 0, timestamp: timestamps = 0, body: bodies = 0 } = counts
  const isInHeader = id !== undefined && 'header' in id
  const runsTogether = parts.some((part, index) => {
    const next = parts[index + 1]
    return next && 'field' in part && 'field' in next && (part.field === 'id' || next.field === 'id')
  })
  const unknown = parts.find((part) => 'literal' in part && /[{}]/.test(part.literal))

  const messages = [
    unknown && 'only {id}, {timestamp} and {body} may stand in braces',
    bodies !== 1 && '{body} must stand in it once',
    ids > 1 && '{id} may stand in it once',
    timestamps > 1 && '{timestamp} may stand in it once',
    timestamps === 0 && timestamp && '{timestamp} must stand in it: a time that is not signed says nothing',
    timestamps === 1 && !timestamp && '{timestamp} needs the setting timestamp',
    ids === 0 && isInHeader && '{id} must stand in it: an id in a header that is not signed can be changed by anybody',
    ids === 1 && !isInHeader && '{id} needs the setting id.header',
    runsTogether && 'a sign must stand between {id} and what is beside it',
  ]
  return messages.flatMap((message) => (message ? [{ path: ['signed'], message }] : []))
}
