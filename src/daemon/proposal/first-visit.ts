import { mkdir, rmdir, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Reading } from '../../connectors/connector.ts'
import { openExport } from '../../connectors/csv/open-export.ts'
import type { ExportFile } from '../../connectors/file/export-file.ts'
import type { FolderSource } from '../../connectors/folder/settings.ts'
import { errorCode, Failure } from '../../errors.ts'
import type { SyncConnection, SyncContext } from '../../sync/context/context.ts'
import { type Preview, planReading } from '../../sync/sync.ts'
import { pathFrom } from '../../system/path-from.ts'
import type { Config, ConnectionConfig } from '../config/config.ts'
import { configOfText } from '../config/load-config.ts'
import { readPresets } from '../config/presets.ts'
import type { SourceSettings } from '../config/schema.ts'
import { findHeader } from './cells.ts'
import {
  exportConnection,
  refuseReferences,
  requireTimeZone,
  toConnectionName,
  withConnection,
} from './configuration.ts'
import {
  type Confirmed,
  draftDigest,
  emptyConfiguration,
  type InTurn,
  writeFirstConnection,
} from './first-configuration.ts'
import { firstKey, type KeyTrial, type PlatformKey } from './first-key.ts'
import { previewFile } from './preview-source.ts'
import { type Answers, type BlockingQuestion, isBlocking, type Proposal, readFields } from './proposal.ts'
import { propose } from './propose.ts'
import { type FormChoice, type FormHelp, readTable, type Table } from './table.ts'
import type { Upload, UploadLimits, Uploads } from './uploads.ts'

/** A person's settings for the first connection. */
type FirstConnection = { readonly name: string; readonly folder: string; readonly timeZone: string }
/** A person's answers as they arrive: names of fields and columns are not checked yet. */
export type FirstVisitAnswers = FormChoice &
  Omit<Answers, 'fields'> & { readonly fields?: Readonly<Record<string, string | null>> }

/** What the first run of the new connection would do. */
export type FirstPlan = {
  readonly upload: Upload
  readonly connection: string
  readonly preview: Preview
  /** Covers the current and the future configuration. */
  readonly digest: string
  readonly text: string
  /** Where exports are looked for. */
  readonly source: string
  /** The folder that will be created; null: it exists. */
  readonly makesFolder: string | null
  readonly key: PlatformKey
}

type Connected = { readonly connection: string; readonly source: string; readonly isTakenUp: boolean }

/** Turns an uploaded export into the first connection of a configuration that has none. */
export type FirstVisits = {
  readonly file: string
  readonly limits: UploadLimits
  /** Why no first connection can be made here; null: it can. */
  trouble(): string | null
  take(
    bytes: AsyncIterable<Uint8Array>,
    request: { name: string; principal: string; form: FormChoice },
  ): Promise<Upload>
  drop(id: string, principal: string): Promise<void>
  propose(
    id: string,
    request: { principal: string; answers: FirstVisitAnswers },
  ): Promise<{ upload: Upload; proposal: Proposal }>
  plan(id: string, request: VisitRequest): Promise<FirstPlan>
  connect(id: string, request: VisitRequest & Confirmed): Promise<Connected>
}

type VisitRequest = {
  readonly principal: string
  readonly answers: FirstVisitAnswers
  readonly settings: FirstConnection
}

type FirstVisitParts = {
  readonly config: Config
  readonly env: NodeJS.ProcessEnv
  readonly uploads: Uploads
  readonly sync: Pick<SyncContext, 'store' | 'now'>
  readonly toSync: (config: Config, connection: ConnectionConfig) => SyncConnection
  readonly tryKey: KeyTrial
  /** Reloads the configuration; null: a person has to. */
  readonly takeUp: (() => void) | null
  readonly signal: AbortSignal
  readonly inTurn: InTurn
}

/** What the person has to answer before a configuration can be drafted, by the subject of the question. */
const missingAnswers: Readonly<Record<BlockingQuestion['about'], string>> = {
  identityId: 'say which column is the key of a person: several could be it',
  dateFormat: 'say how the dates of the export are written: it can be read in more than one way',
  leavers: 'say which column tells who has left, or that none does',
}

/** Maximum number of changes shown of a plan. */
const maxChangesShown = 50
const helpOfPage: FormHelp = {
  encoding: 'choose another encoding',
  whichEncoding: 'choose its encoding by hand',
  delimiter: 'choose the delimiter by hand',
  whichDelimiter: 'choose which one it is by hand',
}

/** Lets people set up the first connection from an uploaded export. Steps of several visits do not interleave. */
export function openFirstVisits(parts: FirstVisitParts): FirstVisits {
  const { config, uploads, sync, signal } = parts
  function trouble(): string | null {
    if (config.connections.size === 0) return null
    return `${config.file} has a connection already: write another one there`
  }
  function refuseSecond(): void {
    const why = trouble()
    if (why !== null) throw new Failure('conflict', why)
  }
  async function drafted(id: string, { principal, answers, settings }: VisitRequest): Promise<Drafted> {
    refuseSecond()
    const upload = uploads.find(id, principal)
    return await draft(config, {
      upload,
      proposal: await proposalFor(upload, answers, signal),
      settings,
      env: parts.env,
    })
  }

  return {
    file: config.file,
    limits: uploads.limits,
    trouble,
    async take(bytes, { name, principal, form }) {
      refuseSecond()
      const check = async (file: ExportFile) => {
        await tableOf(file, form, signal, { whole: true })
      }
      return await uploads.take(bytes, { name, principal, check })
    },
    async drop(id, principal) {
      await uploads.drop(uploads.find(id, principal).id)
    },
    async propose(id, { principal, answers }) {
      const upload = uploads.find(id, principal)
      return { upload, proposal: await proposalFor(upload, answers, signal) }
    },
    async plan(id, request) {
      const { upload, connection, next, digest, text, source, makesFolder } = await drafted(id, request)
      const reading = await readingOf(upload, connection, signal)
      const target = parts.toSync(next, connection)
      const preview = await planReading(sync, target, { reading, maxChanges: maxChangesShown, signal })
      const key = await firstKey(config, { tryKey: parts.tryKey, entered: undefined, signal })
      return { upload, connection: connection.name, preview, digest, text, source, makesFolder, key }
    },
    async connect(id, request) {
      return await parts.inTurn(async () => await connectNow(parts, await drafted(id, request), request))
    },
  }
}

async function proposalFor({ file }: Upload, answers: FirstVisitAnswers, signal: AbortSignal): Promise<Proposal> {
  const table = await tableOf(file, answers, signal)
  const presets = await readPresets()
  if (answers.preset !== undefined && !presets.has(answers.preset))
    throw new Failure('usage', `unknown preset "${answers.preset}"; there are ${[...presets.keys()].join(', ')}`)
  return propose(table, presets, provenAnswers(answers, table))
}

/** Writes the key, the folder and the configuration. */
async function connectNow(parts: FirstVisitParts, drafted: Drafted, request: Confirmed): Promise<Connected> {
  const { upload, connection, source, makesFolder } = drafted
  await writeFirstConnection(parts, drafted, {
    ...request,
    async prepare(undoing) {
      if (makesFolder !== null && (await makeFolder(makesFolder))) undoing.defer(() => rmdir(makesFolder))
    },
  })
  await parts.uploads.drop(upload.id)
  parts.takeUp?.()
  return { connection: connection.name, source, isTakenUp: parts.takeUp !== null }
}

async function tableOf(
  file: ExportFile,
  { encoding, delimiter, headerLine }: FormChoice,
  signal: AbortSignal,
  { whole = false } = {},
): Promise<Table> {
  const head = await previewFile(file, { whole, signal })
  return await readTable(head, { encoding, delimiter, headerLine }, helpOfPage)
}

function provenAnswers({ fields = {}, ...others }: FirstVisitAnswers, table: Table): Answers {
  const proven = Object.entries(fields).map(([name, column]) => {
    const field = readFields.find((one) => one === name)
    if (field === undefined)
      throw new Failure('usage', `there is no field "${name}"; there are ${readFields.join(', ')}`)
    const header = column === null ? null : findHeader(table, column)
    if (column !== null && header === null)
      throw new Failure('usage', `the export has no column "${column}"; it has ${table.headers.join(', ')}`)
    return [field, header] as const
  })
  return { ...others, fields: Object.fromEntries(proven) }
}

type Drafted = Pick<FirstPlan, 'upload' | 'digest' | 'text' | 'source' | 'makesFolder'> & {
  /** The text of the configuration as it is now. */
  readonly before: string
  readonly next: Config
  readonly connection: ConnectionConfig
}

type DraftRequest = {
  readonly upload: Upload
  readonly proposal: Proposal
  readonly settings: FirstConnection
  readonly env: NodeJS.ProcessEnv
}

/** Adds the proposed connection to the current configuration, and checks the result as a whole. */
async function draft(config: Config, { upload, proposal, settings, env }: DraftRequest): Promise<Drafted> {
  const question = proposal.questions.find(isBlocking)
  if (question !== undefined) throw new Failure('usage', missingAnswers[question.about])
  const { file, folder } = config
  refuseReferences(settings.folder)
  const before = await emptyConfiguration(config, env)
  const arrivals = resolve(folder, settings.folder)
  const source = { type: 'csv', path: pathFrom(folder, join(arrivals, `*${suffixOf(upload.name)}`)) }
  const name = toConnectionName(settings.name)
  const timeZone = requireTimeZone(settings.timeZone)
  const text = withConnection(before, exportConnection(proposal, { name, target: settings.name, timeZone, source }))
  const next = await configOfText({ file, text, changedMs: 0 }, env, { secrets: 'when needed' })
  const connection = next.connections.get(name)
  if (connection === undefined) throw new Error('the connection is in the configuration')
  const makesFolder = (await isFolder(arrivals)) ? null : arrivals
  const digest = draftDigest(before, text)
  const drawn = { upload, digest, before, text, next, connection }
  return { ...drawn, source: join(arrivals, `*${suffixOf(upload.name)}`), makesFolder }
}

/** How the names of later exports end. */
function suffixOf(name: string): string {
  return /(?:\.[a-z0-9]{1,8})?\.[a-z0-9]{1,8}$/i.exec(name)?.[0] ?? '.csv'
}

async function isFolder(path: string): Promise<boolean> {
  return await stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  )
}

/** The export as a run would read it, although it is elsewhere. */
async function readingOf(
  { file, name, at }: Upload,
  { source }: ConnectionConfig,
  signal: AbortSignal,
): Promise<Reading> {
  const settings = source?.settings
  if (settings === undefined || !readsFolder(settings)) throw new Error('the source is a folder')
  const opened = await openExport(file, settings, { signal, secret: () => null })
  const { mode } = settings
  return { mode, asOf: at.toISOString(), source: { name, bytes: file.bytes, version: file.version }, ...opened }
}

function readsFolder(settings: SourceSettings): settings is SourceSettings & FolderSource {
  return settings.type === 'csv'
}

/** Whether the folder was created now. */
async function makeFolder(path: string): Promise<boolean> {
  try {
    await mkdir(path)
    return true
  } catch (error) {
    if (errorCode(error) === 'EEXIST' && (await isFolder(path))) return false
    throw new Failure('usage', `cannot make the folder ${path} (${errorCode(error)}): make it, or name another one`, {
      cause: error,
    })
  }
}
