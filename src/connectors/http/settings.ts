import { z } from 'zod'
import { checkExportFormat, exportFormat } from '../file/format.ts'
import { rowSource, secretReference, secretText } from '../file/source-settings.ts'
import { JsonPointer } from '../json/cells.ts'
import { isLoopback } from './private-address.ts'

/** Headers that the connection, the credentials or this connector set. */
const ownHeaders = new Set([
  ...['accept-encoding', 'authorization', 'connection', 'content-length', 'content-type', 'cookie', 'expect', 'host'],
  ...['if-match', 'if-modified-since', 'if-none-match', 'if-range', 'if-unmodified-since', 'keep-alive', 'range', 'te'],
  ...['proxy-authorization', 'proxy-connection', 'trailer', 'transfer-encoding', 'upgrade'],
])

const HeaderName = z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/, { error: 'expected the name of a header' })

const HeaderValue = z.string().regex(/^[\x20-\x7e]{0,1000}$/, { error: 'expected printable ASCII' })

const PlainHeaders = z
  .record(
    HeaderName.refine((name) => !ownHeaders.has(name.toLowerCase()), {
      error: 'this header is set by Rollcall, or holds a secret: use bearer, basic or apiKey',
    }),
    HeaderValue,
  )
  .default({})
  .describe('Further headers of every request, such as Accept-Language. They hold no secrets.')

const Basic = z.strictObject({
  username: z
    .string()
    .min(1)
    .refine((name) => !name.includes(':'), { error: 'a user name holds no colon' })
    .describe(`The user name. If a system expects its key here, write it as ${secretReference}.`),
  password: secretText.describe(`The password, as ${secretReference}.`),
})

const ApiKey = z.strictObject({
  header: HeaderName.refine((name) => !ownHeaders.has(name.toLowerCase()) || /^(authorization|cookie)$/i.test(name), {
    error: 'this header cannot carry a key',
  }).describe('The header that carries the key, such as X-API-Key.'),
  value: secretText.describe(`The value of that header, as ${secretReference}.`),
})

const ClientCertificate = z.strictObject({
  certificate: z
    .string()
    .min(1)
    .describe('The file of the certificate (PEM, with its chain), relative to the folder of the configuration file.'),
  key: secretText.describe(`Its private key (PEM), as ${secretReference}.`),
  passphrase: secretText.optional().describe(`The passphrase of the private key, as ${secretReference}.`),
})

const HttpAsOf = z
  .discriminatedUnion('from', [
    z.strictObject({ from: z.literal('request').describe('When the first request was sent.') }),
    z.strictObject({
      from: z
        .literal('lastModified')
        .describe('The Last-Modified header of the answer. With several pages, that of the first.'),
    }),
    z.strictObject({
      from: z.literal('pointer').describe('A time in the answer, with json only.'),
      pointer: JsonPointer.describe(
        'A JSON pointer to it, such as /meta/generatedAt, in the first page. The time is ISO 8601. Without an offset it is read in timeZone.',
      ),
    }),
  ])
  .describe('When the rows were true. Newer facts win over older ones.')

/** The settings of a list of people that is fetched over HTTP: one CSV export, or JSON in one or more pages. */
export const HttpSource = z
  .strictObject({
    type: z.literal('http'),
    url: z
      .url({ protocol: /^https?$/, error: 'expected an address that begins with https://' })
      .describe('The URL that is fetched. Redirects and further pages are followed only on the same host and port.'),
    format: z.enum(['csv', 'json']).describe('The format of the answer. The settings of exports apply to csv only.'),
    ...rowSource,
    ...exportFormat,
    records: JsonPointer.default('').describe(
      'json: a pointer to the list of records in each page, such as /data/items. Default: the page is that list.',
    ),
    next: JsonPointer.min(1, { error: 'expected a JSON pointer such as /next' })
      .optional()
      .describe(
        "json: a pointer to the next page's address, or to the token that nextParameter sends. If it is null, empty or missing, the list " +
          'ends, unless the answer states that there is more. A first page without it is refused, unless the answer states a total that ' +
          'was reached, or that there is no more. See pages.',
      ),
    nextParameter: z
      .string()
      .min(1)
      .optional()
      .describe('json: the query parameter of url that carries the token from next.'),
    pages: z
      .enum(['single'])
      .optional()
      .describe(
        'json: single allows a first page that holds nothing at next, or as many records as url asks for. An answer that states that ' +
          'there is more is refused all the same.',
      ),
    missing: z
      .enum(['keep'])
      .optional()
      .describe(
        'json: keep lets a person keep what is known of a field that its record in a snapshot lacks. Without it, what a record lacks is ' +
          'blank, as an empty cell is. A delta always keeps it.',
      ),
    ignoredStatements: z
      .array(z.union([JsonPointer.min(1), HeaderName]))
      .min(1)
      .max(100)
      .optional()
      .describe(
        'Pointers to members of an answer, and names of headers, that read as if they spoke of the list and do not, such as ' +
          '/statistics/total. They and what is below them say nothing about the end of the list.',
      ),
    maxPages: z
      .int()
      .min(1)
      .max(100_000)
      .default(10_000)
      .describe('json: the most pages of a list. A list with more pages is refused.'),
    maxPageBytes: z
      .int()
      .min(1024)
      .max(256 * 1024 * 1024)
      .default(32 * 1024 * 1024)
      .describe(
        'json: the most bytes of a page. A larger page is refused, because a page takes several times its size in memory.',
      ),
    maxBytes: z
      .int()
      .min(1024)
      .default(1024 * 1024 * 1024)
      .describe('The most bytes of an answer, unpacked and with all its pages. A larger one is refused.'),
    asOf: HttpAsOf.default({ from: 'request' }),
    headers: PlainHeaders,
    bearer: secretText.optional().describe(`A bearer token, as ${secretReference}.`),
    basic: Basic.optional().describe('A user name and a password.'),
    apiKey: ApiKey.optional().describe('A key in a header of its own.'),
    clientCertificate: ClientCertificate.optional().describe('The certificate with which Rollcall identifies itself.'),
    ca: z
      .string()
      .min(1)
      .optional()
      .describe(
        "The file of the root certificates (PEM) that the server's certificate must lead to, instead of the well-known ones. Relative " +
          'to the folder of the configuration file.',
      ),
    insecure: z
      .boolean()
      .default(false)
      .describe('Allows http:// instead of https://. Anyone on the way can then read and change what is sent.'),
    allowPrivate: z
      .boolean()
      .default(false)
      .describe('Allows addresses of private networks and of this machine. Without it they are refused.'),
    connectTimeoutMs: z
      .int()
      .min(100)
      .max(300_000)
      .default(10_000)
      .describe('How long connecting may take, in milliseconds.'),
    idleTimeoutMs: z
      .int()
      .min(100)
      .max(600_000)
      .default(60_000)
      .describe('How long the server may be silent, before its answer and within it, in milliseconds.'),
    totalTimeoutMs: z
      .int()
      .min(100)
      .max(24 * 60 * 60 * 1000)
      .default(30 * 60 * 1000)
      .describe('How long the whole request may take, in milliseconds.'),
  })
  .superRefine((source, context) => {
    checkExportFormat(source, context)
    for (const [path, message] of contradictions(source)) context.addIssue({ code: 'custom', path: [path], message })
  })

export type HttpSource = z.infer<typeof HttpSource>

/** Whether the name of a host alone says that it is this machine. */
export function isLocalHost({ hostname }: URL): boolean {
  return hostname === 'localhost' || isLoopback(hostname.replaceAll(/^\[|\]$/g, ''))
}

function contradictions(source: Omit<HttpSource, 'type'>): [string, string][] {
  const url = URL.parse(source.url)
  if (!url) return []
  const isLocal = isLocalHost(url) && source.allowPrivate
  const schemes = [source.bearer, source.basic, source.apiKey].filter((scheme) => scheme !== undefined)
  const { asOf, format, next, nextParameter } = source
  const rules: readonly (readonly [boolean, string, string])[] = [
    [
      url.protocol === 'http:' && !source.insecure && !isLocal,
      'url',
      'http:// is readable on the way: write https://, or insecure: true',
    ],
    [url.username !== '' || url.password !== '', 'url', 'an address holds no credentials: use basic'],
    [schemes.length > 1, 'bearer', 'name one of bearer, basic and apiKey'],
    [url.protocol === 'http:' && source.clientCertificate !== undefined, 'clientCertificate', 'needs https://'],
    [nextParameter !== undefined && next === undefined, 'next', 'say where the token stands that nextParameter sends'],
    [
      nextParameter !== undefined && url.searchParams.has(nextParameter),
      'nextParameter',
      'url has this parameter already',
    ],
    [format === 'csv' && next !== undefined, 'next', 'is for format: json'],
    [format === 'csv' && source.pages !== undefined, 'pages', 'is for format: json'],
    [format === 'csv' && source.missing !== undefined, 'missing', 'is for format: json'],
    [format === 'csv' && source.records !== '', 'records', 'is for format: json'],
    [format === 'csv' && asOf.from === 'pointer', 'asOf', 'a pointer is for format: json'],
  ]
  return rules.flatMap(([broken, path, message]): [string, string][] => (broken ? [[path, message]] : []))
}
