import { z } from 'zod'
import { Alert, AlertChannel, AlertTest } from '../../src/contract/control/alerts.ts'
import { AuditKeyReplaced, AuditVerification } from '../../src/contract/control/audit.ts'
import {
  AccountComparison,
  EffectiveCoverage,
  EffectiveFinding,
  EffectiveFixed,
} from '../../src/contract/control/effective.ts'
import { ForeignPerson } from '../../src/contract/control/foreign.ts'
import { HandOver } from '../../src/contract/control/hand-over.ts'
import { HeldBack, HoldBack } from '../../src/contract/control/hold-backs.ts'
import { AnsweredKeys, KeyAnswer, KeyPair } from '../../src/contract/control/keys.ts'
import { Leaver, LeaverReport } from '../../src/contract/control/leavers.ts'
import { LeftOutPerson } from '../../src/contract/control/left-out.ts'
import { PauseState } from '../../src/contract/control/pauses.ts'
import { PersonSearchResult } from '../../src/contract/control/people.ts'
import {
  BlockedPerson,
  ChangeView,
  ClassifiedValue,
  FieldChange,
  InboxEvent,
  Person,
  PersonAccount,
  PersonPlan,
  PlanDocument,
  PlanPart,
  Problem,
  RejectView,
  RevertAccount,
  Run,
  RunSummary,
  Status,
  Verdict,
  Verification,
} from '../../src/contract/control/shapes.ts'
import { StatedDeparture, StatementResult } from '../../src/contract/control/stated-departures.ts'
import { Statement } from '../../src/contract/control/statements.ts'
import { Restored } from '../../src/contract/control/store.ts'
import { NewToken, RevokedToken, TokenView } from '../../src/contract/control/tokens.ts'

const RunDetail = Run.extend({
  changes: z.array(ChangeView),
  rejects: z.array(RejectView),
  summary: RunSummary.nullable(),
})
const text = z.string().describe('Free text.')
const values = z.array(z.object({ value: text, rows: z.number() }))
const named = z.object({ label: text, help: text })
const RecipeSummary = z.object({
  ...{ name: text, title: text },
  parameters: z.array(named.extend({ name: text, example: text })),
  credentials: z.array(named.extend({ setting: text, optional: z.boolean() })),
})
const ListPreview = z.object({
  ...{ records: z.number(), leavers: z.number(), rejected: z.number(), incomplete: z.number(), end: text },
  people: z.array(
    z.object({
      ...{ identityId: text, email: text, name: text, jobTitle: text, leavingDate: text, hasLeft: z.boolean() },
    }),
  ),
  warnings: z.array(text),
  held: z.array(z.object({ name: text, reason: text })),
})
const Proposed = z.object({
  table: z.object({
    ...{ name: text, encoding: text, delimiter: text, headers: z.array(text), rows: z.array(z.array(text)) },
    ...{ headerLine: z.number(), linesAfterHeader: z.number() },
  }),
  ...{ preset: text, title: text, why: text, unreadColumns: z.array(text), notes: z.array(text) },
  fields: z.array(z.object({ field: text, column: text, examples: z.array(text), why: text })),
  dates: z.array(z.object({ column: text, format: text, why: text })),
  statuses: z.object({ column: text, left: values, employed: values, open: values }),
  contractors: z.object({ column: text, contractor: values, employee: values, open: values }),
  timeZone: z.object({ name: text, column: text }),
})

/** What each function that renders a document for people is given, in order; what it is given besides stands in `further`. */
export const rendered: Readonly<Record<string, z.ZodType | readonly z.ZodType[]>> = {
  renderAlertTests: z.object({ data: z.array(AlertTest) }),
  renderAlerts: z.object({ data: z.array(Alert), channels: z.array(AlertChannel) }),
  renderAnswered: AnsweredKeys,
  renderChanges: z.array(ChangeView),
  renderCheck: z.object({ name: text, message: text, level: z.enum(['ok', 'warning', 'rejected', 'failed']) }),
  renderClassified: ClassifiedValue,
  renderSupportFile: z.object({
    file: text,
    parts: z.array(z.object({ name: z.literal('status.json'), failed: text })),
  }),
  renderEvents: z.array(InboxEvent),
  renderAccounts: AccountComparison.extend({ unreadable: z.int() }),
  renderEffective: EffectiveCoverage.extend({ findings: z.array(EffectiveFinding) }),
  renderEffectiveFixed: EffectiveFixed,
  renderResetConfirmation: z.object({ findings: z.array(EffectiveFinding) }),
  renderField: [text, FieldChange],
  renderForeign: z.array(ForeignPerson),
  renderLeftOut: z.array(LeftOutPerson),
  renderListPreview: ListPreview,
  renderMatches: z.array(PersonSearchResult),
  renderGuards: z.array(Verdict),
  renderPause: PauseState,
  renderHeldBack: HeldBack.extend({ run: Run.nullable() }),
  renderHoldBacks: z.object({ people: z.array(HoldBack) }),
  renderStatedDeparture: StatementResult.extend({ run: Run.nullable() }),
  renderStatedDepartures: z.object({ people: z.array(StatedDeparture) }),
  renderKeys: z.object({ pairs: z.array(KeyPair), answers: z.array(KeyAnswer) }),
  renderLeaverReport: LeaverReport,
  renderHandOver: HandOver,
  renderHandOverFile: z.object({ file: text, count: z.number(), values: z.boolean() }),
  renderStatement: Statement,
  renderComparison: z.object({
    ...{
      connection: text,
      matches: z.boolean(),
      faults: z.array(text),
      onlyInExport: z.array(text),
      onlyInStatement: z.array(text),
      differing: z.array(text),
    },
    rows: z.object({ inStatement: z.number().nullable(), inExport: z.number() }),
    file: z.object({ inStatement: text.nullable(), inExport: text }),
    keys: z.object({ inStatement: text.nullable(), inExport: text }),
  }),
  renderLeavers: z.array(Leaver),
  renderNewKey: AuditKeyReplaced,
  renderNewToken: NewToken,
  renderOutcome: Run,
  renderPermissions: z.array(
    z.object({ permissions: z.array(text), purpose: text, isVital: z.boolean(), isGranted: z.boolean() }),
  ),
  renderPerson: Person,
  renderPersonAccount: PersonAccount,
  renderPersonPlan: PersonPlan,
  renderPlan: PlanDocument,
  renderPlanPart: z.object({ run: Run, part: PlanPart }),
  renderRemaining: Run,
  renderProblems: z.array(Problem),
  renderProposal: Proposed,
  renderRecipe: RecipeSummary.extend({
    setup: z.array(text),
    notes: z.array(text),
    traps: z.array(text),
    // A part of the recipe, which comes with Rollcall.
    configuration: z.literal('connections: {}'),
  }),
  renderRecipes: z.object({
    recipes: z.array(RecipeSummary),
    exports: z.array(z.object({ name: text, title: text })),
  }),
  renderSender: z.object({
    ...{ address: text, help: text, token: text },
    senders: z.array(z.object({ sender: text, steps: z.array(text) })),
  }),
  renderSetup: [text, z.array(text)],
  renderForApproval: RunDetail,
  renderRejects: [z.array(RejectView), text],
  renderRestored: Restored,
  renderRevertAccount: RevertAccount,
  renderRevokedToken: RevokedToken,
  renderRun: Run,
  renderRunLine: Run,
  renderRunDetail: RunDetail,
  renderJudgement: Run,
  renderRuns: z.array(Run),
  renderStatus: Status,
  renderSummary: RunSummary,
  renderTokens: z.object({ tokens: z.array(TokenView) }),
  renderUnblocked: z.object({ connection: text, wasBlocked: z.boolean(), due: z.number() }),
  renderBlockedPeople: z.array(BlockedPerson),
  renderValues: z.array(ClassifiedValue),
  renderVerification: Verification,
  renderVerified: AuditVerification,
  renderWarnings: z.array(text),
  renderWebhookTest: z.object({ connection: text, url: text, id: text, status: z.number() }),
}

/** What shows the demo, whose people and files are made by it. */
export const ofTheDemo = ['renderAgain', 'renderDemo', 'renderNight', 'renderSecondAct']

type JsonSchema = {
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, JsonSchema>>
  readonly anyOf?: readonly JsonSchema[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly additionalProperties?: JsonSchema | boolean
  readonly items?: JsonSchema
}

/** What no one else chooses: names of the configuration, ids that the store makes, versions. */
const own: ReadonlySet<string> = new Set([
  ...[
    'id',
    'connection',
    'channel',
    'runId',
    'heldPart',
    'heldPartOf',
    'replacedBy',
    'runIds',
    'wentOn',
    'partOf',
    'parts',
    'ridesWith',
    'digest',
    'basis',
    'version',
    'publicKey',
    'timeZone',
  ],
  ...['state', 'kind', 'field'],
])
const time = '2026-11-20T01:00:00.000Z'
const isTime = /[Aa]n instant|ISO 8601|\bday\b|^When |^Since when/

const known = new Map<z.ZodType, JsonSchema>()
function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  const schemaOf = known.get(schema) ?? (z.toJSONSchema(schema, { unrepresentable: 'any' }) as JsonSchema)
  known.set(schema, schemaOf)
  return schemaOf
}

/** A value that the schema allows, each text in it the one given. Variants differ in the members of closed lists, and in what is true. */
export function filled(schema: z.ZodType, outside: string, variant: number): unknown {
  const root = jsonSchemaOf(schema)
  return sample(root, '')

  function sample(part: JsonSchema, member: string): unknown {
    if (part.$ref !== undefined) return sample(root.$defs?.[part.$ref.replace('#/$defs/', '')] ?? {}, member)
    if (part.const !== undefined) return part.const
    if (part.enum) return part.enum[variant % part.enum.length]
    if (part.anyOf) return sample({ description: part.description, ...part.anyOf[0] } as JsonSchema, member)
    switch ([part.type].flat()[0]) {
      case 'object': {
        const { properties = {}, additionalProperties: others } = part
        const further = typeof others === 'object' ? { jobTitle: sample(others, 'jobTitle') } : {}
        const entries = Object.entries(properties).map(([key, inner]) => [key, sample(inner, key)])
        return { ...further, ...Object.fromEntries(entries) }
      }
      case 'array':
        return [sample(part.items ?? {}, member)]
      case 'string':
        if (own.has(member)) return 'own'
        return isTime.test(part.description ?? '') || /(?:At|On|asOf|since|until)$/.test(member) || member === 'at'
          ? time
          : outside
      case 'number':
      case 'integer':
        return 3
      case 'boolean':
        return variant % 2 === 0
      default:
        return undefined
    }
  }
}
