import { z } from 'zod'
import { operations } from '../operation.ts'
import { By } from './access.ts'
import { ChangeView, Counts, RejectView, Verdict } from './plan-shapes.ts'

const Count = z.int().min(0)
const Line = z.int().min(1).max(1000)
const Text = z.string().min(1).max(200)
const Bytes = z.custom<AsyncIterable<Uint8Array>>(
  (value) => typeof value === 'object' && value !== null && Symbol.asyncIterator in value,
  { error: 'expected the bytes of an export' },
)
/** The name of a column of an export, or one of its cells. */
const Cell = z.string().max(1000)

/** Whether an admin can make the first connection here from an uploaded export. */
export const FirstVisit = z
  .object({
    trouble: z.string().nullable().describe('Why no first connection can be made here. Null: it can.'),
    file: z.string().describe('The configuration that the connection will be written into.'),
    mostBytes: Count.describe('Maximum size of an export in bytes.'),
    keptMinutes: Count.describe('An uploaded export is removed after this time without use.'),
    takesAddresses: z
      .boolean()
      .describe('Whether an address may be given here: only where the platform itself is on this machine.'),
  })
  .meta({ id: 'FirstVisit' })
export type FirstVisit = z.infer<typeof FirstVisit>

/** An export that an admin uploaded, or a list whose address an admin gave, to make the first connection. */
export const Upload = z
  .object({
    id: z.uuid(),
    name: z.string().describe('The name of the file, or of the list.'),
    bytes: Count.nullable().describe('Null: a list at an address.'),
  })
  .meta({ id: 'Upload' })
export type Upload = z.infer<typeof Upload>

/** The format of the file, if a person overrides what was detected. */
const formatOverrides = {
  encoding: Text.optional().describe('Such as utf-8 or windows-1252.'),
  delimiter: Text.optional().describe('The sign between two cells, or the word tab.'),
  sheet: Text.optional().describe('Of a workbook: the name of a sheet, or its number.'),
  records: Text.optional().describe('Of a JSON file: a pointer to the list of the people, such as /data/items.'),
  ignoredStatements: Text.optional().describe(
    'Of a JSON file: pointers to counts of something else, such as /departments/total, separated by commas.',
  ),
}

/** The admin's answers about how to read an uploaded export. */
export const ReadingAnswers = z
  .strictObject({
    ...formatOverrides,
    headerLine: Line.optional().describe('The line that names the columns.'),
    preset: Text.optional(),
    fields: z
      .record(Text, Cell.nullable())
      .default({})
      .describe(
        'The column of a field. Null: the field is not sent. "status": the column that says who has left; null: none does.',
      ),
    dateFormat: Text.optional(),
    statuses: z
      .record(Cell, z.enum(['left', 'employed', 'open']))
      .default({})
      .describe('By the value of the column.'),
    contractors: z.record(Cell, z.boolean().nullable()).default({}).describe('By the value of the column.'),
  })
  .meta({ id: 'ReadingAnswers' })
export type ReadingAnswers = z.infer<typeof ReadingAnswers>

const SeenValue = z.object({ value: z.string(), rows: Count })
const SeenValues = z.array(SeenValue)

/** How Rollcall proposes to read an uploaded export. */
export const ProposedReading = z
  .object({
    upload: Upload,
    form: z.object({
      format: z.enum(['csv', 'xlsx', 'json']),
      sheet: z.string().nullable().describe('The sheet that is read. Null: the export has only one, or none.'),
      records: z
        .string()
        .nullable()
        .describe('Where the list of an uploaded JSON file is; empty: it is the whole file. Null: of anything else.'),
      encoding: z.string(),
      delimiter: z.string(),
      headerLine: Count,
      linesAfterHeader: Count,
      rows: Count.describe('How many were looked at for the proposal.'),
      isWhole: z.boolean().describe('Whether these are all rows of the export.'),
    }),
    columns: z.array(z.string()),
    preset: z.string(),
    title: z.string().describe('The system that the preset is for.'),
    why: z.string(),
    presets: z.array(z.object({ name: z.string(), title: z.string() })).describe('All that there are.'),
    fields: z.array(
      z.object({
        field: z.string(),
        column: z.string().describe('Several are joined by commas.'),
        examples: z.array(z.string()),
        why: z.string().nullable().describe('Why this column, where the preset does not name it.'),
      }),
    ),
    otherFields: z.array(z.string()).describe('Those that no column was found for.'),
    left: z.array(z.string()).describe('The columns that stay behind in the export.'),
    dates: z.array(z.object({ column: z.string(), format: z.string(), why: z.string() })),
    statuses: z
      .object({ column: z.string(), left: SeenValues, employed: SeenValues, open: SeenValues })
      .nullable()
      .describe('What the values of the status column mean. Null: there is none.'),
    contractors: z
      .object({ column: z.string(), contractor: SeenValues, employee: SeenValues, open: SeenValues })
      .nullable(),
    questions: z
      .array(
        z.discriminatedUnion('about', [
          z.object({ about: z.literal('identityId'), choices: z.array(z.string()) }),
          z.object({ about: z.literal('leavers'), dates: z.array(z.string()), statuses: z.array(z.string()) }),
          z.object({ about: z.literal('dateFormat'), columns: z.array(z.string()), choices: z.array(z.string()) }),
          z.object({ about: z.literal('status'), column: z.string(), ...SeenValue.shape }),
          z.object({ about: z.literal('contractor'), column: z.string(), ...SeenValue.shape }),
        ]),
      )
      .describe(
        'What only a person knows. A plan is made once the key, the format of the dates and what says who has left are known.',
      ),
    notes: z.array(z.string()),
    timeZone: z.string().describe('Of the dates: as the export says it, else that of this machine.'),
  })
  .meta({ id: 'ProposedReading' })
export type ProposedReading = z.infer<typeof ProposedReading>

const connectionSettings = {
  name: z.string().trim().min(1).max(100).describe('What the connection is called on the platform.'),
  folder: z
    .string()
    .trim()
    .min(1)
    .max(500)
    .optional()
    .describe('Where exports will arrive, relative to the folder of the configuration. Only for an uploaded export.'),
  timeZone: z.string().trim().min(1).max(100).describe('Of the dates in the export, such as Europe/Berlin.'),
}

/** The plan of a first run over an uploaded export. */
export const FirstPlan = z
  .object({
    upload: Upload,
    connection: z.string().describe('The name of the connection in the configuration.'),
    rows: Count,
    records: Count.describe('Rows that became a record.'),
    counts: Counts,
    changes: z.array(ChangeView).describe('The first of the changes.'),
    guards: z.array(Verdict),
    rejected: Count,
    rejects: z.array(RejectView).describe('The first of the rows and cells that cannot be read.'),
    warnings: z.array(z.string()),
    digest: z.string().describe('Of the configuration as it is and as it will be. The last step repeats it.'),
    file: z.string(),
    text: z.string().describe('What will stand in that file.'),
    end: z.string().nullable().describe('How the end of a list was recognised.'),
    source: z.string().describe('Where exports are looked for, or the list is read, from then on.'),
    secretFiles: z.array(z.string()).describe('The files that the secrets are written into.'),
    makesFolder: z.string().nullable().describe('The folder that will be made. Null: it is there.'),
    key: z
      .object({
        isKnown: z.boolean(),
        file: z
          .string()
          .nullable()
          .describe('The file that a key is written into, if there is none. Null: it comes from elsewhere.'),
        trouble: z.string().nullable().describe('Why runs could not use the key. Null: they can.'),
      })
      .describe("The platform's API key."),
  })
  .meta({ id: 'FirstPlan' })
export type FirstPlan = z.infer<typeof FirstPlan>

/** An HR system that can be connected by its API, and what that needs. */
export const RecipeView = z
  .object({
    name: z.string(),
    title: z.string().describe('The system.'),
    setup: z.array(z.string()).describe('What to create in the HR system, step by step.'),
    notes: z.array(z.string()),
    parameters: z.array(
      z.object({
        name: z.string(),
        label: z.string(),
        help: z.string().nullable(),
        example: z.string(),
        usual: z.string().nullable().describe('The value if none is given.'),
      }),
    ),
    credentials: z.array(
      z.object({
        setting: z.string().describe('The setting of the source that it becomes.'),
        label: z.string(),
        help: z.string(),
        is: z.enum(['secret', 'text', 'file']),
        optional: z.boolean(),
      }),
    ),
  })
  .meta({ id: 'Recipe' })
export type RecipeView = z.infer<typeof RecipeView>

/** What the list of an HR system holds, and what a first run over it would do. */
export const FirstList = FirstPlan.omit({ upload: true, makesFolder: true })
  .extend({
    id: z.uuid(),
    recipe: z.string(),
    title: z.string().describe('The system.'),
  })
  .meta({ id: 'FirstList' })
export type FirstList = z.infer<typeof FirstList>

const scimAddress = {
  address: z.string().describe('Where people are pushed to.'),
  addressHelp: z.string().nullable().describe('Why identity systems cannot reach it, and what helps. Null: they can.'),
}

/** What connecting an identity system that pushes would write. */
export const FirstScim = FirstPlan.pick({ connection: true, digest: true, file: true, text: true, key: true })
  .extend(scimAddress)
  .meta({ id: 'FirstScim' })
export type FirstScim = z.infer<typeof FirstScim>

const Credential = z.string().min(1).max(20_000)

/** How an HR system lets a reader in. */
export const SignIn = z
  .discriminatedUnion('with', [
    z.strictObject({ with: z.literal('nothing') }),
    z.strictObject({ with: z.literal('bearer'), token: Credential }),
    z.strictObject({ with: z.literal('basic'), username: Text, password: Credential }),
    z.strictObject({ with: z.literal('apiKey'), header: Text.describe('Such as X-Api-Key.'), value: Credential }),
  ])
  .meta({ id: 'SignIn' })
export type SignIn = z.infer<typeof SignIn>

const Given = z.record(Text, z.string().max(20_000)).default({})

const FirstConnection = z
  .object({
    connection: z.string(),
    file: z.string(),
    source: z.string(),
    isTakenUp: z
      .boolean()
      .describe('Whether the daemon reloads by itself and applies the new configuration. False: restart it.'),
  })
  .meta({ id: 'FirstConnection' })

/** A connection that an identity system pushes to, with the token of that system. */
export const ConnectedScim = FirstConnection.omit({ source: true })
  .extend({
    ...scimAddress,
    token: z.string().describe('The bearer token of the identity system. It is shown here and never again.'),
    senders: z
      .array(z.object({ sender: z.string(), steps: z.array(z.string()) }))
      .describe('What to set up in the usual identity systems.'),
  })
  .meta({ id: 'ConnectedScim' })
export type ConnectedScim = z.infer<typeof ConnectedScim>

const ofUpload = z.object({ upload: z.uuid() })
const ofList = z.object({ list: z.uuid() })

const scimSettings = { name: connectionSettings.name, timeZone: connectionSettings.timeZone }

const confirmed = {
  digest: Text.describe('The digest of the plan. If something else would be written by now, nothing is.'),
  apiKey: z.string().trim().min(1).max(4096).optional().describe("The platform's key, if there is none yet."),
  by: By,
}

/** How an export that a person gives becomes the first connection. Nothing is stored before the last step. */
export const firstVisitOperations = operations({
  getFirstVisit: {
    method: 'GET',
    path: '/first-visit',
    permission: 'admin',
    summary: 'Whether a first connection can be made here, and the file that it is written to.',
    success: { 200: FirstVisit },
    errors: [401, 403, 500],
  },
  uploadExport: {
    method: 'POST',
    path: '/first-visit/exports',
    permission: 'admin',
    summary: 'Upload an export for the first connection.',
    description:
      'The body is the export as it is, of the type `application/octet-stream`. It is kept in a file of its own, which is removed at the last step, when it is dropped, after half an hour, and at the next start. Only who gave it can look at it.',
    query: z.object({ name: z.string().trim().min(1).max(255).describe('The name of the file.'), ...formatOverrides }),
    body: Bytes,
    takesBytes: true,
    success: { 201: Upload },
    errors: [400, 401, 403, 409, 413, 415, 422, 429, 500, 503],
  },
  readAddress: {
    method: 'POST',
    path: '/first-visit/addresses',
    permission: 'admin',
    summary: 'Give the address of a list to make the first connection of. Its records, pages and columns are found.',
    description:
      'From then on the list is treated as an export that was given. What is given stays in memory until the last step, until it is dropped, for half an hour, or until the process ends.',
    body: z.strictObject({
      url: z.string().trim().min(1).max(2000),
      records: z.string().max(200).optional().describe('A JSON pointer to the list in an answer, such as /data/items.'),
      signIn: SignIn,
    }),
    success: { 201: Upload },
    errors: [400, 401, 403, 409, 422, 429, 500, 503],
  },
  dropExport: {
    method: 'DELETE',
    path: '/first-visit/exports/:upload',
    permission: 'admin',
    summary: 'Remove an uploaded export, or forget an address.',
    params: ofUpload,
    success: { 204: null },
    errors: [400, 401, 403, 404, 500],
  },
  proposeReading: {
    method: 'POST',
    path: '/first-visit/exports/:upload/reading',
    permission: 'admin',
    summary: 'Propose how an uploaded export is read. The uploader sees cells of it.',
    params: ofUpload,
    body: ReadingAnswers,
    success: { 200: ProposedReading },
    errors: [400, 401, 403, 404, 409, 422, 500],
  },
  planFirstRun: {
    method: 'POST',
    path: '/first-visit/exports/:upload/plan',
    permission: 'admin',
    summary: 'Preview the first run over the export, and the configuration. Nothing is stored or sent.',
    params: ofUpload,
    body: z.strictObject({ reading: ReadingAnswers, ...connectionSettings }),
    success: { 200: FirstPlan },
    errors: [400, 401, 403, 404, 409, 422, 500, 503],
  },
  makeFirstConnection: {
    method: 'POST',
    path: '/first-visit/exports/:upload/connection',
    permission: 'admin',
    summary: 'Write the connection to the configuration, and start it. The export is removed.',
    params: ofUpload,
    body: z.strictObject({
      reading: ReadingAnswers,
      ...connectionSettings,
      ...confirmed,
    }),
    success: { 201: FirstConnection },
    errors: [400, 401, 403, 404, 409, 422, 500, 503],
  },
  listRecipes: {
    method: 'GET',
    path: '/first-visit/recipes',
    permission: 'admin',
    summary: 'The recipes, and what each needs.',
    success: { 200: z.object({ data: z.array(RecipeView) }) },
    errors: [401, 403, 404, 500],
  },
  readList: {
    method: 'POST',
    path: '/first-visit/lists',
    permission: 'admin',
    summary: 'Read the list of an HR system, and preview the first run over it. Nothing is stored or sent.',
    description:
      'What is given stays in memory until the last step, until it is dropped, for half an hour, or until the process ends. Only who gave it can look at the list.',
    body: z.strictObject({
      recipe: Text,
      name: connectionSettings.name,
      timeZone: connectionSettings.timeZone,
      parameters: Given.describe('By the name of the parameter.'),
      credentials: Given.describe('By the setting of the source that they become: the secrets themselves.'),
      settings: z
        .record(Text, z.json())
        .default({})
        .describe('Further settings of the source by their path, such as requestsPerMinute.'),
    }),
    success: { 201: FirstList },
    errors: [400, 401, 403, 404, 409, 422, 429, 500, 503],
  },
  getList: {
    method: 'GET',
    path: '/first-visit/lists/:list',
    permission: 'admin',
    summary: 'The content of a list that was read.',
    params: ofList,
    success: { 200: FirstList },
    errors: [400, 401, 403, 404, 500],
  },
  dropList: {
    method: 'DELETE',
    path: '/first-visit/lists/:list',
    permission: 'admin',
    summary: 'Forget a list that was read, and its credentials.',
    params: ofList,
    success: { 204: null },
    errors: [400, 401, 403, 404, 500],
  },
  connectList: {
    method: 'POST',
    path: '/first-visit/lists/:list/connection',
    permission: 'admin',
    summary: 'Write the connection to the configuration and its secrets to files, and start it.',
    params: ofList,
    body: z.strictObject(confirmed),
    success: { 201: FirstConnection },
    errors: [400, 401, 403, 404, 409, 422, 500, 503],
  },
  planScim: {
    method: 'POST',
    path: '/first-visit/scim/plan',
    permission: 'admin',
    summary: 'Preview a first connection that an identity system pushes to. Nothing is stored.',
    body: z.strictObject(scimSettings),
    success: { 200: FirstScim },
    errors: [400, 401, 403, 404, 409, 422, 500, 503],
  },
  connectScim: {
    method: 'POST',
    path: '/first-visit/scim/connection',
    permission: 'admin',
    summary: 'Write a connection that an identity system pushes to, create the token of that system, and start it.',
    body: z.strictObject({ ...scimSettings, ...confirmed }),
    success: { 201: ConnectedScim },
    errors: [400, 401, 403, 404, 409, 422, 500, 503],
  },
})
