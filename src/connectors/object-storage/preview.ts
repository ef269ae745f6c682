import { Failure } from '../../errors.ts'
import {
  type DiscoveryOptions,
  givenList,
  headBytes,
  listSettingNames,
  type NamedSource,
  readSecretFile,
  recordsOption,
  requireSettings,
  type SourcePreview,
  secretFileReference,
} from '../discovery.ts'
import { exportStart } from '../export/export-start.ts'
import { readHeadFromBytes } from '../file/decode/head.ts'
import { exportPattern } from '../file/names.ts'
import { chooseRemoteExport } from '../remote/choice.ts'
import { folderOf } from './choice.ts'
import { readStart } from './fetch.ts'
import { startLimits } from './limits.ts'
import { openBucket } from './load.ts'
import { ObjectStorageSource } from './settings.ts'
import type { ObjectStore } from './store.ts'

/** The pattern where a person names a folder only. */
const allObjects = '*'
/** The settings that `--set` can give, besides those of the address. */
const givable = ['endpoint', 'region', 'accessKeyId', 'insecure']

/** Reads the beginning of the newest export in a bucket: s3://BUCKET/FOLDER/, gs://BUCKET/FOLDER/ or az://ACCOUNT/CONTAINER/FOLDER/. */
export async function previewObject(
  { location, secretFile, settings: given = new Map() }: NamedSource,
  options: DiscoveryOptions,
): Promise<SourcePreview> {
  const named = { type: 'object-storage', ...bucketAddress(location), ...givenSettings(given) }
  const secret = secretFile === undefined ? undefined : await readSecretFile(secretFile, options)
  const setting = secretSetting(named.provider, { hasAccessKey: given.has('accessKeyId'), secret })
  const checks = { mode: 'snapshot', complete: { quietSeconds: 0 } }
  const secrets = secret === undefined ? {} : { [setting]: secret }
  const source = requireSettings(ObjectStorageSource.safeParse({ ...named, ...secrets, ...checks }))
  using limits = startLimits(source, options.signal)
  const { signal } = limits
  const secretOf = (path: string) => (path === setting && secret !== undefined ? { read: async () => secret } : null)
  const store = await openBucket(source, { secret: secretOf, limits })
  try {
    const address = { ...named, ...(await locateExports(store, source)) }
    const chosen = await chooseRemoteExport(folderOf(store, { ...source, ...address }), source, {
      findDecided: async () => new Set(),
      signal,
    })
    if (chosen === null) throw new Error('no export was chosen')
    const { file } = chosen
    const bytes = await readStart(store, file, headBytes)
    const head = await readHeadFromBytes(bytes, { name: file.name, isWhole: bytes.length === file.bytes, signal })
    const reference = secretFile === undefined ? {} : { [setting]: secretFileReference(secretFile, options) }
    const ofList = new Map([...given].filter(([path]) => listSettingNames.includes(path)))
    const { settings, ...start } = exportStart(head, { ...givenList(ofList), recordsHelp: recordsOption })
    return { ...start, source: { ...address, ...settings, ...reference }, laterExports: null }
  } finally {
    store.close()
  }
}

type SecretHints = { readonly hasAccessKey: boolean; readonly secret: string | undefined }

/** The setting that holds the secret which a person names by its file. */
function secretSetting(provider: ObjectStorageSource['provider'], { hasAccessKey, secret }: SecretHints): string {
  if (hasAccessKey && secret === undefined)
    throw new Failure('usage', 'an accessKeyId needs --secret-file, the file of its secretAccessKey')
  if (provider === 'azure') return secret !== undefined && /(?:^|[?&])sig=/.test(secret) ? 'sasToken' : 'accountKey'
  if (provider === 'gcs' && !hasAccessKey) return 'googleCredentials'
  if (!hasAccessKey && secret !== undefined)
    throw new Failure('usage', '--secret-file holds a secretAccessKey here: give its ID with --set accessKeyId=ID')
  return 'secretAccessKey'
}

/** Where the exports are: a path that names no object, such as exports/nightly, is taken for a folder. */
async function locateExports(store: ObjectStore, { prefix, pattern, complete }: ObjectStorageSource) {
  const isBelow = !/[*?]/.test(pattern) && (await store.find(prefix + pattern)) === undefined
  if (!isBelow && pattern !== allObjects) return { pattern }
  const folder = isBelow ? `${prefix}${pattern}/` : prefix
  const { files } = await folderOf(store, { prefix: folder, pattern: allObjects, complete }).findMatches()
  return { ...(folder !== '' && { prefix: folder }), pattern: exportPattern(files.map(({ name }) => name)) }
}

function bucketAddress(location: string) {
  const [, scheme, rest = ''] = /^(s3|gs|az):\/\/(.*)$/s.exec(location) ?? []
  const parts = rest.split('/')
  const account = scheme === 'az' ? parts.shift() : undefined
  const bucket = parts.shift() ?? ''
  if (account === '' || bucket === '')
    throw new Failure(
      'usage',
      'name the bucket, as in s3://BUCKET/FOLDER/, gs://BUCKET/FOLDER/ or az://ACCOUNT/CONTAINER/FOLDER/',
    )
  const pattern = parts.pop() || allObjects
  const prefix = parts.map((part) => `${part}/`).join('')
  const provider = scheme === 's3' ? ('s3' as const) : scheme === 'gs' ? ('gcs' as const) : ('azure' as const)
  return { provider, ...(account !== undefined && { account }), bucket, ...(prefix !== '' && { prefix }), pattern }
}

function givenSettings(given: ReadonlyMap<string, string>): Readonly<Record<string, string | boolean>> {
  const settings: Record<string, string | boolean> = {}
  for (const [path, value] of given) {
    if (listSettingNames.includes(path)) continue
    if (!givable.includes(path))
      throw new Failure(
        'usage',
        `--set ${path}: an address of object storage takes ${[...givable, ...listSettingNames].join(', ')}`,
      )
    settings[path] = path === 'insecure' ? value === 'true' : value
  }
  return settings
}
