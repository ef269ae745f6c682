import { z } from 'zod'
import { afterwards } from '../file/afterwards.ts'
import { checkFileFormat } from '../file/format.ts'
import { checkCompanions, fileSource, secretReference, secretText } from '../file/source-settings.ts'
import { folderKey } from './store.ts'

/** A text without control characters. */
const Printable = z.string().regex(/^\P{Cc}*$/u, { error: 'holds characters that no name holds' })

const Prefix = Printable.regex(/^(?:[^/*?][^*?]*\/)?$/, {
  error: 'expected a folder that ends with / and begins without it, such as exports/nightly/',
})

const Pattern = Printable.regex(/^[^/]+$/, {
  error: 'expected a name such as people.csv, or a pattern such as *.csv; folders belong in prefix',
})

const Milliseconds = z
  .int()
  .min(100)
  .max(24 * 60 * 60 * 1000)

const objectStorageSettings = {
  type: z.literal('object-storage'),
  provider: z
    .enum(['s3', 'gcs', 'azure'])
    .describe('s3: Amazon S3 and what speaks its API (MinIO, R2, Ceph). gcs: Google Cloud Storage. azure: Azure Blob.'),
  bucket: Printable.min(1).describe('The bucket; on Azure the container.'),
  account: z
    .string()
    .regex(/^[a-z0-9-]{3,63}$/, { error: 'expected the name of a storage account' })
    .optional()
    .describe('azure: the storage account.'),
  prefix: Prefix.default('').describe(
    'The folder of the exports, which ends with /. Folders below it are not searched.',
  ),
  pattern: Pattern.describe('The name of the export, or a pattern with * and ?, such as people-*.csv.'),
  endpoint: z
    .url({ protocol: /^https?$/, error: 'expected an address such as https://minio.example.com' })
    .optional()
    .describe("The address of a server of your own. Default: the provider's."),
  region: z
    .string()
    .min(1)
    .optional()
    .describe(
      's3: the region of the bucket. Default: as the environment says; us-east-1 if there is an endpoint and no other.',
    ),
  accessKeyId: z
    .string()
    .min(1)
    .optional()
    .describe(
      's3, gcs: the ID of an access key. Without one, the credentials are those of the environment: variables, profiles, roles of ' +
        'the machine, workload identity.',
    ),
  secretAccessKey: secretText.optional().describe(`The secret of the access key, as ${secretReference}.`),
  sessionToken: secretText.optional().describe(`s3: the token of a temporary key, as ${secretReference}.`),
  googleCredentials: secretText
    .optional()
    .describe(`gcs: the JSON of a service account or of workload identity, as ${secretReference}.`),
  accountKey: secretText.optional().describe(`azure: a key of the storage account, as ${secretReference}.`),
  sasToken: secretText.optional().describe(`azure: a shared access signature, as ${secretReference}.`),
  insecure: z.boolean().default(false).describe('Allows an endpoint with http:// that is not this machine.'),
  afterwards: z
    .strictObject(afterwards)
    .describe(
      'What happens to an export in the bucket once its plan is accepted or rejected. A move is a copy and a deletion.',
    )
    .prefault({}),
  idleTimeoutMs: Milliseconds.default(30_000).describe('How long the server may be silent, in milliseconds.'),
  totalTimeoutMs: Milliseconds.default(60 * 60 * 1000).describe(
    'How long the whole download may take, in milliseconds. The part that was fetched by then is not fetched again.',
  ),
  maxBytes: z
    .int()
    .min(1)
    .default(1024 * 1024 * 1024)
    .describe('The maximum size of an export in bytes. A larger one is refused and not fetched.'),
  ...fileSource,
}

/** The settings of exports in object storage, without the mapping. */
export const ObjectStorageSource = z
  .strictObject(objectStorageSettings)
  .superRefine((source, context) => {
    for (const { path, message } of contradictions(source)) context.addIssue({ code: 'custom', path: [path], message })
  })
  .superRefine(checkCompanions)
  .superRefine(checkFileFormat)

/** The parsed settings of exports in object storage. */
export type ObjectStorageSource = z.infer<typeof ObjectStorageSource>

type Provider = ObjectStorageSource['provider']

/** The providers that know a setting. Other settings fit each of them. */
const knownTo = {
  account: ['azure'],
  region: ['s3'],
  accessKeyId: ['s3', 'gcs'],
  secretAccessKey: ['s3', 'gcs'],
  sessionToken: ['s3'],
  googleCredentials: ['gcs'],
  accountKey: ['azure'],
  sasToken: ['azure'],
} as const satisfies Partial<Record<keyof ObjectStorageSource, readonly Provider[]>>

type Contradiction = { readonly path: keyof ObjectStorageSource; readonly message: string }

function contradictions(source: ObjectStorageSource): Contradiction[] {
  const { provider, endpoint, insecure } = source
  const foreign = (Object.keys(knownTo) as (keyof typeof knownTo)[])
    .filter((path) => source[path] !== undefined && !knownTo[path].some((known) => known === provider))
    .map((path) => ({ path, message: `does not belong to provider: ${provider}` }))
  const problems: Contradiction[] = [...foreign]
  if ((source.accessKeyId === undefined) !== (source.secretAccessKey === undefined))
    problems.push({ path: 'accessKeyId', message: 'belongs together with secretAccessKey: write both or none' })
  if (source.sessionToken !== undefined && source.accessKeyId === undefined)
    problems.push({ path: 'sessionToken', message: 'belongs to an accessKeyId' })
  if (source.googleCredentials !== undefined && source.accessKeyId !== undefined)
    problems.push({ path: 'googleCredentials', message: 'set either googleCredentials or accessKeyId' })
  if (source.sasToken !== undefined && source.accountKey !== undefined)
    problems.push({ path: 'sasToken', message: 'set either accountKey or sasToken' })
  if (provider === 'azure' && source.account === undefined)
    problems.push({ path: 'account', message: 'is missing: name the storage account' })
  if (endpoint !== undefined && !insecure && !isProtected(endpoint))
    problems.push({ path: 'endpoint', message: 'http:// is not encrypted: write https://, or insecure: true' })
  return [...problems, ...folderProblems(source)]
}

function folderProblems({ prefix, afterwards: { archiveDir, rejectDir } }: ObjectStorageSource): Contradiction[] {
  const problems: Contradiction[] = []
  if (/(?:^|\/)\.{1,2}\//.test(prefix)) problems.push({ path: 'prefix', message: 'a bucket knows no folders . and ..' })
  for (const [setting, folder] of Object.entries({ archiveDir, rejectDir })) {
    if (/(?:^|\/)\.{1,2}(?:\/|$)/.test(folder))
      problems.push({
        path: 'afterwards',
        message: `${setting}: a bucket knows no folders . and ..; begin with / for the start of the bucket`,
      })
    else if (folderKey(prefix, folder) === prefix)
      problems.push({ path: 'afterwards', message: `${setting} is the folder of the exports: name another one` })
  }
  return problems
}

function isProtected(endpoint: string): boolean {
  const { protocol, hostname } = new URL(endpoint)
  return protocol === 'https:' || ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
}
