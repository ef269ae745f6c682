import type {
  FirstList as FirstListView,
  firstVisitOperations,
  ReadingAnswers,
  RecipeView,
  Upload as UploadView,
} from '../../contract/control/first-visit.ts'
import { Failure } from '../../errors.ts'
import type { Handlers } from '../../http/server/mount.ts'
import type { Preview } from '../../sync/sync.ts'
import { type RecipePreset, readPresets } from '../config/presets.ts'
import { canBeNamed } from '../proposal/cells.ts'
import type { PlatformKey } from '../proposal/first-key.ts'
import type { FirstList, FirstLists } from '../proposal/first-list.ts'
import type { FirstScims } from '../proposal/first-scim.ts'
import type { FirstPlan, FirstVisitAnswers, FirstVisits } from '../proposal/first-visit.ts'
import { type Proposal, readFields } from '../proposal/proposal.ts'
import type { Sample } from '../proposal/samples.ts'
import type { Visitor } from '../proposal/visit-store.ts'
import { changeView, rejectView } from './views.ts'
import type { WithActor } from './with-permissions.ts'

/** What the handlers of the first connection use. */
export type FirstVisitContext = {
  /** Left out if no daemon runs. */
  readonly firstVisits?: FirstVisits
  /** Left out if no daemon runs. */
  readonly firstLists?: FirstLists
  /** Left out if no daemon runs. */
  readonly firstScims?: FirstScims
  /** Aborted when whoever sent the request has left. Left out within a command. */
  readonly requestSignal?: () => AbortSignal
}

const maxRejectsShown = 100
const minuteMs = 60_000
/** What was uploaded is shown to the one who has it at hand. */
const shown = { values: true } as const

/** Handlers of the operations about the first connection. */
export const firstVisitHandlers: Handlers<typeof firstVisitOperations, FirstVisitContext & WithActor> = {
  async getFirstVisit(ctx) {
    const { file, limits, takesAddresses, trouble } = visitsIn(ctx)
    const { maxBytes: mostBytes, maxIdleMs: keptMs } = limits
    const keptMinutes = Math.floor(keptMs / minuteMs)
    return { status: 200, body: { trouble: trouble(), file, mostBytes, keptMinutes, takesAddresses } }
  },

  async uploadExport(ctx, { query: { name, ...form }, body }) {
    const { principal } = ctx.actor
    return { status: 201, body: uploadView(await visitsIn(ctx).take(body, { name, principal, form })) }
  },

  async readAddress(ctx, { body }) {
    return { status: 201, body: uploadView(await visitsIn(ctx).readAddress(body, visitorOf(ctx))) }
  },

  async dropExport(ctx, { params: { upload } }) {
    await visitsIn(ctx).drop(upload, ctx.actor.principal)
    return { status: 204 }
  },

  async proposeReading(ctx, { params: { upload: id }, body }) {
    const request = { principal: ctx.actor.principal, answers: toVisitAnswers(body) }
    const { sample, proposal } = await visitsIn(ctx).propose(id, request)
    return { status: 200, body: await readingView(sample, proposal) }
  },

  async planFirstRun(ctx, { params: { upload }, body: { reading, ...settings } }) {
    const request = { ...visitorOf(ctx), answers: toVisitAnswers(reading), settings }
    const visits = visitsIn(ctx)
    return { status: 200, body: { file: visits.file, ...planView(await visits.plan(upload, request)) } }
  },

  async makeFirstConnection(ctx, { params: { upload }, body: { reading, digest, apiKey, by: _, ...settings } }) {
    const { principal, by } = ctx.actor
    const visits = visitsIn(ctx)
    const made = await visits.connect(upload, {
      principal,
      answers: toVisitAnswers(reading),
      settings,
      digest,
      apiKey,
      by,
    })
    return { status: 201, body: { file: visits.file, ...made } }
  },

  async listRecipes(ctx) {
    const recipes = [...(await listsIn(ctx).recipes())].map(([name, preset]) => recipeView(name, preset))
    return { status: 200, body: { data: recipes } }
  },

  async readList(ctx, { body }) {
    return { status: 201, body: listView(ctx, await listsIn(ctx).read(body, visitorOf(ctx))) }
  },

  async getList(ctx, { params: { list } }) {
    return { status: 200, body: listView(ctx, listsIn(ctx).find(list, ctx.actor.principal)) }
  },

  async dropList(ctx, { params: { list } }) {
    listsIn(ctx).drop(list, ctx.actor.principal)
    return { status: 204 }
  },

  async connectList(ctx, { params: { list }, body: { digest, apiKey } }) {
    const { principal, by } = ctx.actor
    const made = await listsIn(ctx).connect(list, principal, { digest, apiKey, by })
    return { status: 201, body: { file: visitsIn(ctx).file, ...made } }
  },

  async planScim(ctx, { body }) {
    const { key, ...planned } = await scimsIn(ctx).plan(body)
    return { status: 200, body: { file: visitsIn(ctx).file, ...planned, key: keyView(key) } }
  },

  async connectScim(ctx, { body: { name, timeZone, digest, apiKey } }) {
    const { by } = ctx.actor
    const { senders, ...made } = await scimsIn(ctx).connect({ name, timeZone, digest, apiKey, by })
    const setups = senders.map(({ sender, steps }) => ({ sender, steps: [...steps] }))
    return { status: 201, body: { file: visitsIn(ctx).file, ...made, senders: setups } }
  },
}

function visitorOf({ actor, requestSignal }: FirstVisitContext & WithActor): Visitor {
  return { principal: actor.principal, left: requestSignal?.() ?? new AbortController().signal }
}

function listsIn({ firstLists }: FirstVisitContext): FirstLists {
  if (firstLists) return firstLists
  throw noDaemon()
}

function scimsIn({ firstScims }: FirstVisitContext): FirstScims {
  if (firstScims) return firstScims
  throw noDaemon()
}

function visitsIn({ firstVisits }: FirstVisitContext): FirstVisits {
  if (firstVisits) return firstVisits
  throw noDaemon()
}

function noDaemon(): Failure {
  return new Failure('not_found', 'no daemon runs: "rollcall init" makes the first connection')
}

function toVisitAnswers({
  encoding,
  delimiter,
  headerLine,
  sheet,
  records,
  ignoredStatements,
  preset,
  dateFormat,
  fields,
  statuses,
  contractors,
}: ReadingAnswers): FirstVisitAnswers {
  const form = { encoding, delimiter, headerLine, sheet, records, ignoredStatements }
  return { ...form, preset, dateFormat, fields, statuses, contractors }
}

function uploadView({ id, name, bytes }: Sample): UploadView {
  return { id, name, bytes }
}

function formatOf({ workbook, isList }: Proposal['table']): 'csv' | 'xlsx' | 'json' {
  if (isList) return 'json'
  return workbook ? 'xlsx' : 'csv'
}

async function readingView(sample: Sample, { table, form: _, mapping: __, ...proposal }: Proposal) {
  const { encoding, delimiter, headerLine, linesAfterHeader, rows, headers, isWhole } = table
  const presets = [...(await readPresets())].map(([name, one]) => ({ name, title: one.title }))
  const { preset, title, why, fields, unreadColumns, dates, statuses, contractors, questions, notes } = proposal
  return {
    upload: uploadView(sample),
    form: {
      ...{ format: formatOf(table), sheet: table.workbook?.sheet ?? null },
      records: table.listSettings ? (table.listSettings.records ?? '') : null,
      ...{ encoding, delimiter, headerLine, linesAfterHeader, rows: rows.length, isWhole },
    },
    columns: [...new Set(headers)].filter(canBeNamed),
    ...{ preset, title, why, presets },
    fields: fields.map(({ examples, ...field }) => ({ ...field, examples: [...examples] })),
    otherFields: readFields.filter((name) => !fields.some(({ field }) => field === name)),
    left: [...unreadColumns],
    dates: dates.map(({ column, format, why: because }) => ({ column, format, why: because })),
    statuses: statuses && {
      column: statuses.column,
      left: [...statuses.left],
      employed: [...statuses.employed],
      open: [...statuses.open],
    },
    contractors: contractors && {
      column: contractors.column,
      contractor: [...contractors.contractor],
      employee: [...contractors.employee],
      open: [...contractors.open],
    },
    questions: questions.map((question) => ({
      ...question,
      ...('choices' in question && { choices: [...question.choices] }),
      ...('dates' in question && { dates: [...question.dates], statuses: [...question.statuses] }),
      ...('columns' in question && { columns: [...question.columns] }),
    })) as never,
    notes: [...notes],
    timeZone: proposal.timeZone?.name ?? Temporal.Now.timeZoneId(),
  }
}

function recipeView(name: string, { title, notes, recipe }: RecipePreset): RecipeView {
  return {
    name,
    title,
    setup: [...recipe.setup],
    notes,
    parameters: [...recipe.parameters].map(([parameter, { label, help = null, example, default: usual = null }]) => ({
      name: parameter,
      ...{ label, help, example, usual },
    })),
    credentials: [...recipe.credentials].map(([setting, { label, help, is, optional }]) => ({
      setting,
      ...{ label, help, is, optional },
    })),
  }
}

function listView(ctx: FirstVisitContext, { preview, key, secretFiles, ...list }: FirstList): FirstListView {
  const { file } = visitsIn(ctx)
  return { ...list, file, secretFiles: [...secretFiles], ...previewView(preview), key: keyView(key) }
}

function planView({ sample, preview, key, secretFiles, ...planned }: FirstPlan) {
  const view = { ...planned, secretFiles: [...secretFiles], upload: uploadView(sample) }
  return { ...view, ...previewView(preview), key: keyView(key) }
}

function previewView({ rows, records, counts, changes, guards, rejects, warnings }: Preview) {
  return {
    ...{ rows, records, counts },
    changes: changes.map(({ change, origin }) => changeView(change, { ...shown, origin })),
    guards: [...guards],
    rejected: counts.rejected + counts.incomplete,
    rejects: rejects.slice(0, maxRejectsShown).map(rejectView),
    warnings: [...warnings],
  }
}

function keyView({ isKnown, file, trouble }: PlatformKey) {
  return { isKnown, file, trouble: trouble?.message ?? null }
}
