import { z } from 'zod'
import { exportFormat } from '../../file/format.ts'
import { rowSource, secretReference, secretText } from '../../file/source-settings.ts'
import { JsonPointer } from '../../json-pointer.ts'
import { ApiKey, Basic, ClientCertificate, Login, OAuth2 } from './authorization.ts'
import { Each, Join } from './details.ts'
import { HeaderName, Headers } from './headers.ts'
import { Pages } from './pages.ts'

const HttpAsOf = z
  .discriminatedUnion('from', [
    z.strictObject({ from: z.literal('request').describe('When the first request was sent.') }),
    z.strictObject({
      from: z
        .literal('lastModified')
        .describe('The Last-Modified header of the answer. With several pages, the earliest of them.'),
    }),
    z.strictObject({
      from: z.literal('pointer').describe('A time in the answer, with json only.'),
      pointer: JsonPointer.describe(
        'A JSON pointer to it, such as /meta/generatedAt, in the first page. The time is ISO 8601. Without an offset it is read in timeZone.',
      ),
    }),
  ])
  .describe('The time as of which the rows state HR’s data. Newer facts win over older ones.')

/** The settings of a list over HTTP, before they are compared with each other. */
export const HttpSettings = z.strictObject({
  type: z.literal('http'),
  url: z
    .url({ protocol: /^https?$/, error: 'expected an address that begins with https://' })
    .describe(
      'The URL that is fetched. Redirects and further pages are followed only to the same scheme, host and port.',
    ),
  method: z.enum(['GET', 'POST']).default('GET').describe('The method of every request of the list.'),
  body: z
    .record(z.string(), z.json())
    .optional()
    .describe(`The JSON that is sent with method POST. A text that is a secret is written as ${secretReference}.`),
  format: z
    .enum(['csv', 'xlsx', 'json'])
    .describe('The format of the answer. The settings of exports apply to csv and xlsx only.'),
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
    .union([z.enum(['single']), Pages])
    .optional()
    .describe(
      'json: how the pages of the list follow each other. single allows a first page that holds nothing at next, or as many records ' +
        'as url asks for. An answer that states that there is more is refused all the same.',
    ),
  join: z
    .array(Join)
    .max(10)
    .default([])
    .describe('json: further lists of the same system, whose records are added to those of the first list.'),
  each: z
    .array(Each)
    .max(5)
    .default([])
    .describe('json: requests for the records, for details that no list has. Four are sent at the same time.'),
  missingDetails: z
    .enum(['fail', 'cell', 'blank'])
    .default('fail')
    .describe(
      'What follows for a record without its detail of join or each. fail: the list is refused. cell: the columns of the detail are ' +
        'cells that cannot be read, so that their fields stay as they were, also if a request of each fails. blank: the columns are ' +
        'blank; a request that fails refuses the list.',
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
      'Parts of an answer that look as if they stated where the list ends, but are about something else: pointers such as ' +
        '/statistics/total, and names of headers. Nothing in them is used to recognise the end of the list.',
    ),
  maxPages: z
    .int()
    .min(1)
    .max(100_000)
    .default(10_000)
    .describe('json: maximum number of pages of a list. A list with more pages is refused.'),
  maxPageBytes: z
    .int()
    .min(1024)
    .max(256 * 1024 * 1024)
    .default(32 * 1024 * 1024)
    .describe(
      'json: maximum size of a page. A larger page is refused, because a page takes several times its size in memory.',
    ),
  maxBytes: z
    .int()
    .min(1024)
    .default(1024 * 1024 * 1024)
    .describe(
      'Maximum size of an answer, unpacked and with all its pages, also those that are read again. A larger one is refused.',
    ),
  asOf: HttpAsOf.default({ from: 'request' }),
  headers: Headers,
  bearer: secretText.optional().describe(`A bearer token, as ${secretReference}.`),
  basic: Basic.optional().describe('A user name and a password.'),
  apiKey: ApiKey.optional().describe('A key in a header of its own.'),
  oauth2: OAuth2.optional().describe('Access tokens by OAuth 2.0.'),
  login: Login.optional().describe('A request that exchanges credentials for a token.'),
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
  firstByteTimeoutMs: z
    .int()
    .min(100)
    .max(24 * 60 * 60 * 1000)
    .optional()
    .describe(
      'How long the server may compute before its answer begins, in milliseconds. Default: idleTimeoutMs. A report may take half an hour.',
    ),
  requestsPerMinute: z
    .number()
    .positive()
    .max(60_000)
    .optional()
    .describe('Maximum number of requests in a minute. Without it, only the answers of the server slow Rollcall down.'),
  totalTimeoutMs: z
    .int()
    .min(100)
    .max(24 * 60 * 60 * 1000)
    .default(30 * 60 * 1000)
    .describe('How long the whole reading may take, with all pages and waits, in milliseconds.'),
})
export type HttpSettings = z.infer<typeof HttpSettings>
