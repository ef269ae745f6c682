import { z } from 'zod'
import { operations } from '../operation.ts'
import { By } from './access.ts'
import { ChangeKind, ChangeView, Counts, OthersGoOn, RecordView, Verdict } from './plan-shapes.ts'
import { Values } from './plans.ts'

const sections = ['target', 'source', 'mapping', 'leaving', 'guards', 'schedule', 'other'] as const
const Section = z.enum(sections)
/** A part of a connection's settings that is edited on its own. */
export type SettingsSection = z.infer<typeof Section>

const Yaml = z.string().max(60_000)
const Digest = z.string().max(200)

/** Lines of a part: removed, added, or kept around them. */
export const SettingsDifference = z
  .array(
    z.object({
      section: Section,
      lines: z.array(z.object({ is: z.enum(['removed', 'added', 'kept']), text: z.string() })),
    }),
  )
  .meta({ id: 'SettingsDifference' })
export type SettingsDifference = z.infer<typeof SettingsDifference>

const change = {
  by: z.string(),
  at: z.iso.datetime(),
  difference: SettingsDifference,
}

/** The settings of a connection as the file has them, and what can be done about them. */
export const ConnectionSettings = z
  .object({
    connection: z.string(),
    file: z.string(),
    digest: Digest.describe('Of the file. A change repeats it, and is refused if the file has changed since.'),
    trouble: z.string().nullable().describe('Why nothing can be saved. Null: it can.'),
    refusedReload: z
      .string()
      .nullable()
      .describe('Why the newest reload refused the file; the former configuration stays in effect. Null: it did not.'),
    hidden: z.array(Section).describe('Parts that are left out, as a secret may stand in them.'),
    sections: z.array(
      z.object({ section: Section, text: z.string().describe('Settings with their comments, in YAML.') }),
    ),
    twoPeople: z.boolean().describe('Whether a change waits for a second admin.'),
    previous: z
      .object(change)
      .nullable()
      .describe('The newest change of the file, if nothing has changed since, with the difference that undoing makes.'),
    waiting: z
      .object({
        ...change,
        id: z.uuid(),
        expiresAt: z.iso.datetime(),
        isOwn: z.boolean().describe('Whether the caller proposed it, and so cannot approve it.'),
      })
      .nullable()
      .describe('The change that waits for a second admin.'),
  })
  .meta({ id: 'ConnectionSettings' })
export type ConnectionSettings = z.infer<typeof ConnectionSettings>

const Effect = z.object({
  rows: z.int(),
  records: z.int(),
  rejected: z.int(),
  counts: Counts,
  guards: z.array(Verdict),
  leftOut: OthersGoOn.optional().describe(
    'The only people whom the next run would hold. Absent: if a guard fails, everybody is held.',
  ),
  warnings: z.array(z.string()),
})

const ChangedPerson = z.object({
  identityId: z.string(),
  person: RecordView.optional().describe('Name, title, manager and e-mail, where personal values are asked for.'),
  before: ChangeView.nullable().describe('Null: none, or one of a kind that is not compared.'),
  after: ChangeView.nullable().describe('Null: none, or one of a kind that is not compared.'),
})

const Comparison = z
  .object({
    before: Effect.nullable().describe('With the settings as they are. Null: the connection is new, or see below.'),
    beforeTrouble: z.string().nullable().describe('Why that is not known.'),
    after: Effect.describe('With the settings as they would be.'),
    hasSourceChanged: z
      .boolean()
      .describe(
        'Another export arrived, or a run was accepted, between the two readings: a difference may come from it.',
      ),
    people: z
      .array(ChangedPerson)
      .describe(
        'Whose change differs, at most 50: first who would leave only with the changed settings, then who no longer would, then who would leave otherwise.',
      ),
    morePeople: z.int().describe('How many further people are known to differ.'),
    uncompared: z.array(ChangeKind).describe('Kinds with too many changes to compare all their people.'),
  })
  .meta({ id: 'SettingsComparison' })
/** What a run would do with settings as they are and as they would be. */
export type SettingsComparison = z.infer<typeof Comparison>
/** A person whose change differs between the two. */
export type ChangedPerson = z.infer<typeof ChangedPerson>

/** What changed settings look like, and what the next run would do with them. */
export const SettingsPreview = z
  .object({
    digest: Digest,
    problems: z
      .array(z.object({ section: Section.nullable(), message: z.string() }))
      .describe('Why the settings are refused. Empty: they are valid.'),
    difference: SettingsDifference,
    text: z.string().describe('The changed parts in YAML, to be copied where the file cannot be written.'),
    trouble: z.string().nullable().describe('Why nothing can be saved. Null: it can.'),
    twoPeople: z.boolean(),
    isSame: z.boolean().describe('A run of this connection plans the same with both, so nothing was read for it.'),
    effect: Comparison.nullable().describe('What a run over the newest export would do.'),
    effectTrouble: z.string().nullable().describe('Why that is not known.'),
    linked: z
      .array(
        z.object({
          connection: z.string(),
          effect: Comparison.nullable(),
          effectTrouble: z.string().nullable(),
        }),
      )
      .describe('The same for the first linked connections that are new, or whose plans change too.'),
    moreLinked: z.array(z.string()).describe('Further ones, of which nothing was read.'),
    removedLinked: z
      .array(z.string())
      .describe('Linked connections that no longer run. Their people stay as they are.'),
  })
  .meta({ id: 'SettingsPreview' })
export type SettingsPreview = z.infer<typeof SettingsPreview>
/** What a run would do with some settings. */
export type SettingsEffect = z.infer<typeof Effect>

const Cell = z.string().max(1000)
const Meaning = z.enum(['left', 'employed', 'open'])

/** Where the fields of a connection come from in its newest export, and what the values of its status mean. */
export const ConnectionColumns = z
  .object({
    connection: z.string(),
    file: z.string(),
    digest: Digest.describe('Of the file. Choices repeat it.'),
    columns: z.array(z.string()).describe('Of the newest export: those with a name, at most 300.'),
    moreColumns: z
      .int()
      .describe('How many further columns are not listed. A name of over 200 characters is not listed.'),
    examples: z
      .array(z.array(z.string()))
      .describe('For each of these columns: its first cells. Empty unless personal values are asked for.'),
    fields: z.array(
      z.object({
        field: z.string().describe('A field of a person, or "status": what says who has left.'),
        column: z.string().nullable().describe('Null: it is read from no single column of the export.'),
        written: z
          .string()
          .nullable()
          .describe(
            'What the settings say if that is no single column of the export: a missing column, several columns, a template or an expression. Null: they say nothing else.',
          ),
        trouble: z
          .enum(['missing', 'several', 'lost', 'notNeeded'])
          .nullable()
          .describe(
            'Why the named column is not read. missing, several: the export has none or several, and runs are held. lost: it has none, and the last accepted export had one, so runs are held. notNeeded: it has none, and may have none.',
          ),
        lacking: z.array(z.string()).describe('The columns that are not read, where several are named.'),
        similar: z.string().nullable().describe('A column of the export with a similar name.'),
      }),
    ),
    otherTroubles: z
      .array(z.string())
      .describe(
        'Which columns are missing that are of no field, such as the one that orders several rows of a person.',
      ),
    wordsOf: z.string().nullable().describe('The column whose values are listed as those of the status.'),
    statuses: z
      .array(z.object({ value: z.string(), rows: z.int(), means: Meaning }))
      .describe('The values of the status, at most 200: first those without a meaning, then the most frequent.'),
    moreStatuses: z.int().describe('How many further values are not listed. One of over 190 characters is not listed.'),
    rows: z
      .int()
      .describe('In how many rows of the export the values were counted. 0: the status is read from no single column.'),
  })
  .meta({ id: 'ConnectionColumns' })
export type ConnectionColumns = z.infer<typeof ConnectionColumns>

const Outcome = z
  .object({
    connection: z.string(),
    file: z.string(),
    waits: z.boolean().describe('The change waits for a second admin; nothing was saved.'),
    isTakenUp: z.boolean().describe('Whether the daemon reloads by itself. False: restart it.'),
  })
  .meta({ id: 'SettingsOutcome' })

const params = z.object({ connection: z.string() })
const typed = {
  digest: Digest.describe('The digest of the file as the caller saw it.'),
  sections: z.partialRecord(Section, Yaml).describe('The parts as they shall be. Parts that are left out stay.'),
}
const errors = [400, 401, 403, 404, 409, 422, 500, 503] as const
const ofWaiting = z.strictObject({ id: z.uuid().describe('The change as the caller saw it.'), by: By })

/** How an admin changes the settings of a connection in the file of the configuration. */
export const settingsChangeOperations = operations({
  getConnectionSettings: {
    method: 'GET',
    path: '/connections/:connection/settings',
    permission: 'admin',
    summary: 'The settings of a connection as the file has them. References to secrets are not resolved.',
    params,
    success: { 200: ConnectionSettings },
    errors: [...errors],
  },
  getConnectionColumns: {
    method: 'GET',
    path: '/connections/:connection/settings/columns',
    permission: 'admin',
    summary: 'Where the fields of a connection come from in its newest export, of which the beginning is read.',
    params,
    query: z.object({
      values: Values,
      wordsOf: Cell.optional().describe(
        'The column whose values are listed, with values=true; default: that of the status.',
      ),
    }),
    success: { 200: ConnectionColumns },
    errors: [...errors],
  },
  chooseConnectionColumns: {
    method: 'POST',
    path: '/connections/:connection/settings/columns',
    permission: 'admin',
    summary: 'Write chosen columns and meanings as settings, to be previewed and saved. Nothing is stored.',
    params,
    body: z.strictObject({
      digest: typed.digest,
      fields: z
        .record(z.string().max(200), Cell.min(1).nullable())
        .default({})
        .describe('The column of a field. Null: the field is not sent.'),
      statuses: z.record(Cell.min(1), Meaning).default({}).describe('By the value of the status.'),
    }),
    success: { 200: z.object({ digest: Digest, sections: z.partialRecord(Section, Yaml) }) },
    errors: [...errors],
  },
  previewConnectionSettings: {
    method: 'POST',
    path: '/connections/:connection/settings/preview',
    permission: 'admin',
    summary: 'Check changed settings, and show the difference and what a run would do. Nothing is stored or sent.',
    params,
    query: z.object({ values: Values }),
    body: z.strictObject({
      ...typed,
      effect: z.boolean().default(true).describe('Whether the newest export is read, which may take minutes.'),
    }),
    success: { 200: SettingsPreview },
    errors: [...errors],
  },
  previewStoredSettings: {
    method: 'POST',
    path: '/connections/:connection/settings/preview-stored',
    permission: 'admin',
    summary: 'The same for the change that waits for a second admin, or for the version before the last change.',
    params,
    query: z.object({ values: Values }),
    body: z.strictObject({ change: z.enum(['waiting', 'previous']) }),
    success: { 200: SettingsPreview },
    errors: [...errors],
  },
  changeConnectionSettings: {
    method: 'POST',
    path: '/connections/:connection/settings',
    permission: 'admin',
    summary: 'Save changed settings to the file and reload, or propose them where two people decide.',
    params,
    body: z.strictObject({ ...typed, by: By }),
    success: { 200: Outcome },
    errors: [...errors],
  },
  undoConnectionSettings: {
    method: 'POST',
    path: '/connections/:connection/settings/undo',
    permission: 'admin',
    summary: 'Put the previous version of the file back, or propose that where two people decide.',
    params,
    body: z.strictObject({ digest: typed.digest, by: By }),
    success: { 200: Outcome },
    errors: [...errors],
  },
  approveConnectionSettings: {
    method: 'POST',
    path: '/connections/:connection/settings/approve',
    permission: 'admin',
    summary: 'Save a change that another admin proposed.',
    params,
    body: ofWaiting,
    success: { 200: Outcome },
    errors: [...errors],
  },
  rejectConnectionSettings: {
    method: 'POST',
    path: '/connections/:connection/settings/reject',
    permission: 'admin',
    summary: 'Reject a proposed change, or withdraw an own one.',
    params,
    body: ofWaiting,
    success: { 200: Outcome },
    errors: [...errors],
  },
})
