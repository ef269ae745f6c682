import { mkdir, rmdir } from 'node:fs/promises'
import type { ExportFile } from '../../connectors/file/export-file.ts'
import { errorCode, Failure } from '../../errors.ts'
import type { Preview } from '../../sync/sync.ts'
import type { Config } from '../config/config.ts'
import { readPresets } from '../config/presets.ts'
import { type AddressRequest, readAddress } from './address-sample.ts'
import { findHeader } from './cells.ts'
import { exportConnection, requireTimeZone, toConnectionName, withConnection } from './configuration.ts'
import { draftedConfig } from './drafted-config.ts'
import { exportSample, exportTable, isFolder } from './export-sample.ts'
import { type Confirmation, draftDigest, emptyConfiguration, writeFirstConnection } from './first-configuration.ts'
import { firstKey, type PlatformKey } from './first-key.ts'
import { isTrial, type VisitParts } from './first-parts.ts'
import { type Answers, type BlockingQuestion, isBlocking, type Proposal, readFields } from './proposal.ts'
import { propose } from './propose.ts'
import type { FirstConnection, Sample, SampleDraft } from './samples.ts'
import { writeSecrets } from './secret-files.ts'
import type { FormChoice, Table } from './table.ts'
import type { UploadLimits, Uploads } from './uploads.ts'
import { openVisitStore, type Visitor } from './visit-store.ts'

/** A person's answers as they arrive: names of fields and columns are not checked yet. */
export type FirstVisitAnswers = FormChoice &
  Omit<Answers, 'fields'> & { readonly fields?: Readonly<Record<string, string | null>> }

/** What the first run of the new connection would do. */
export type FirstPlan = {
  readonly sample: Sample
  readonly connection: string
  readonly preview: Preview
  /** How the end of a list was recognised; null if the source does not say. */
  readonly end: string | null
  /** Covers the current and the future configuration. */
  readonly digest: string
  readonly text: string
  /** Where exports are looked for, or the list is read. */
  readonly source: string
  /** The folder that will be created; null: none. */
  readonly makesFolder: string | null
  /** The files that secrets will be written into. */
  readonly secretFiles: readonly string[]
  readonly key: PlatformKey
}

type ConnectionResult = { readonly connection: string; readonly source: string; readonly isTakenUp: boolean }

/** Turns an uploaded export, or the list at an address, into the first connection of a configuration that has none. */
export type FirstVisits = AsyncDisposable & {
  readonly file: string
  readonly limits: UploadLimits
  /** Whether a person may give an address. */
  readonly takesAddresses: boolean
  /** Why no first connection can be made here; null: it can. */
  trouble(): string | null
  take(
    bytes: AsyncIterable<Uint8Array>,
    request: { name: string; principal: string; form: FormChoice },
  ): Promise<Sample>
  /** Looks at the list at an address. What the person gave stays in memory until it is connected, dropped, or forgotten after a while. */
  readAddress(request: AddressRequest, visitor: Visitor): Promise<Sample>
  drop(id: string, principal: string): Promise<void>
  propose(
    id: string,
    request: { principal: string; answers: FirstVisitAnswers },
  ): Promise<{ sample: Sample; proposal: Proposal }>
  plan(id: string, request: VisitRequest & Visitor): Promise<FirstPlan>
  connect(id: string, request: VisitRequest & Confirmation): Promise<ConnectionResult>
}

type VisitRequest = {
  readonly principal: string
  readonly answers: FirstVisitAnswers
  readonly settings: FirstConnection
}

/** What the person has to answer before a configuration can be drafted, by the subject of the question. */
const missingAnswers: Readonly<Record<BlockingQuestion['about'], string>> = {
  identityId: 'say which column is the key of a person: several could be it',
  dateFormat: 'say how the dates of the export are written: it can be read in more than one way',
  leavers: 'say which column tells who has left, or that none does',
}

/** Lets people set up the first connection. Steps of several visits do not interleave. */
export function openFirstVisits(parts: VisitParts & { readonly uploads: Uploads }): FirstVisits {
  const { config, uploads, signal } = parts
  const visits = openVisitStore<Sample>({ ...parts, noun: 'lists' })
  function trouble(): string | null {
    if (config.connections.size === 0) return null
    return `${config.file} has a connection already: write another one there`
  }
  function refuseSecond(): void {
    const why = trouble()
    if (why !== null) throw new Failure('conflict', why)
  }
  function find(id: string, principal: string): Sample {
    return visits.find(id, principal) ?? exportSample(uploads.find(id, principal), parts)
  }
  async function drop(id: string): Promise<void> {
    visits.drop(id)
    await uploads.drop(id)
  }
  async function draftOfVisit(id: string, { principal, answers, settings }: VisitRequest): Promise<ConfigurationDraft> {
    refuseSecond()
    const sample = find(id, principal)
    return await draft(parts, { sample, proposal: await proposalFor(sample, answers), settings })
  }

  return {
    file: config.file,
    limits: uploads.limits,
    takesAddresses: isTrial(config),
    trouble,
    async take(bytes, { name, principal, form }) {
      refuseSecond()
      const check = async (file: ExportFile) => {
        await exportTable(file, form, signal, { whole: true })
      }
      return exportSample(await uploads.take(bytes, { name, principal, check }), parts)
    },
    async readAddress(request, visitor) {
      refuseSecond()
      return await visits.fill(visitor, (id, either) => readAddress({ ...parts, visits, signal: either }, request, id))
    },
    async drop(id, principal) {
      await drop(find(id, principal).id)
    },
    async propose(id, { principal, answers }) {
      const sample = find(id, principal)
      return { sample, proposal: await proposalFor(sample, answers) }
    },
    async plan(id, request) {
      const { sample, connection, ...rest } = await draftOfVisit(id, request)
      const { preview, end } = await sample.plan({ connection, ...rest }, request)
      const key = await firstKey(config, { tryKey: parts.tryKey, entered: undefined, signal })
      const { digest, text, shown, makesFolder, secrets } = rest
      const secretFiles = [...secrets.values()].map(({ file }) => file)
      const written = { digest, text, source: shown, makesFolder, secretFiles }
      return { sample, connection: connection.name, preview, end, ...written, key }
    },
    async connect(id, request) {
      return await parts.inTurn(async () => {
        const connected = await connectNow(parts, await draftOfVisit(id, request), request)
        await drop(id)
        parts.takeUp?.()
        return connected
      })
    },
    async [Symbol.asyncDispose]() {
      visits[Symbol.dispose]()
    },
  }
}

async function proposalFor(sample: Sample, answers: FirstVisitAnswers): Promise<Proposal> {
  const table = await sample.tableOf(answers)
  const presets = await readPresets()
  if (answers.preset !== undefined && !presets.has(answers.preset))
    throw new Failure('usage', `unknown preset "${answers.preset}"; there are ${[...presets.keys()].join(', ')}`)
  return propose(table, presets, provenAnswers(answers, table))
}

/** Writes the key, the secrets, the folder and the configuration. */
async function connectNow(
  parts: VisitParts,
  drafted: ConfigurationDraft,
  request: Confirmation,
): Promise<ConnectionResult> {
  const { connection, shown, makesFolder, secrets } = drafted
  await writeFirstConnection(parts, drafted, {
    ...request,
    async prepare(undoing) {
      await writeSecrets(secrets, undoing)
      if (makesFolder !== null && (await makeFolder(makesFolder))) undoing.defer(() => rmdir(makesFolder))
    },
  })
  return { connection: connection.name, source: shown, isTakenUp: parts.takeUp !== null }
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

type ConfigurationDraft = SampleDraft & {
  readonly sample: Sample
  /** The text of the configuration as it is now. */
  readonly before: string
  readonly text: string
}

type DraftRequest = { readonly sample: Sample; readonly proposal: Proposal; readonly settings: FirstConnection }

/** Adds the proposed connection to the current configuration, and checks the result as a whole. */
async function draft(
  { config, env }: { readonly config: Config; readonly env: NodeJS.ProcessEnv },
  { sample, proposal, settings }: DraftRequest,
): Promise<ConfigurationDraft> {
  const question = proposal.questions.find(isBlocking)
  if (question !== undefined) throw new Failure('usage', missingAnswers[question.about])
  const source = await sample.sourceFor(settings, proposal.table)
  const before = await emptyConfiguration(config, env)
  const name = toConnectionName(settings.name)
  const timeZone = requireTimeZone(settings.timeZone)
  const connection = { name, target: settings.name, timeZone, source: source.settings }
  const text = withConnection(before, exportConnection(proposal, connection))
  const checked = await draftedConfig({ config, text, name }, env)
  return { ...source, ...checked, sample, before, text, digest: draftDigest(before, text) }
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
