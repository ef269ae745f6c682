import { z } from 'zod'
import { operations } from '../operation.ts'
import { After, Limit, page } from './lists.ts'
import { Values } from './plans.ts'

const Count = z.int().min(0)

/** The parts of the keys that HR states. Each key is in exactly one. */
export const statedParts = {
  employed: 'employed, also on the platform',
  left: 'left, also on the platform',
  deferred: 'starts or leaves on a later day',
  outOfScope: 'every row of the person is out of scope',
  held: 'waits in a held plan',
  refused: 'the platform refuses the change',
  onTheWay: 'accepted, not acknowledged by the platform yet',
  blocked: 'waits behind a run that the platform blocks',
  unreadable: 'the row cannot be read',
  excluded: 'excluded by an operator: held back, retracted, cancelled or stated as left',
  notAPerson: 'the row is not about a person',
  unaccounted: 'unaccounted for',
} as const

/** The parts of the people who are on the platform: those whose key HR states, and the others by reason. */
export const platformParts = {
  stated: 'stated by HR',
  leftEarlier: 'left earlier',
  absent: 'missing in the export, not yet separated',
  alias: 'stated by HR under another key',
  held: 'waits in a held plan',
  refused: 'the platform refuses the change',
  onTheWay: 'accepted, not acknowledged by the platform yet',
  blocked: 'waits behind a run that the platform blocks',
  excluded: 'excluded by an operator: held back, retracted, cancelled or stated as left',
  foreign: 'created by others, never stated by HR',
  unaccounted: 'unaccounted for',
} as const

/** The parts of the rows of an export. */
export const rowParts = {
  used: 'used',
  further: 'not used: another row of the person is',
  later: 'takes effect on a later day',
  rejected: 'cannot be read',
  outOfScope: 'out of scope',
  notAPerson: 'not about a person, such as totals',
  ignored: 'ignored because of its action',
} as const

/** Details of people whose employment does not follow from their row in the export alone. */
export const accountedDetails = {
  newer: 'stated after the export',
  hiredAgain: 'hired again after the leaving date of the row',
} as const

/** A part of the keys that HR states. */
export type StatedPart = keyof typeof statedParts
/** A part of the people on the platform. */
export type PlatformPart = keyof typeof platformParts
/** A part of the rows of an export. */
export type RowPart = keyof typeof rowParts

const countsOf = <T extends Readonly<Record<string, string>>>(parts: T) =>
  z.object(Object.fromEntries(Object.keys(parts).map((name) => [name, Count])) as Record<keyof T, typeof Count>)

/** The population statement after a run: everybody whom HR states and everybody on the platform, by part. The parts add up. */
export const Statement = z
  .object({
    connection: z.string(),
    runId: z.string().describe('The run after which it was made.'),
    madeAt: z.string(),
    rules: z.string().nullable().describe('The digest of the configuration by which the run planned.'),
    export: z
      .object({
        runId: z.string().nullable().describe('The run that read it; null: that run was removed.'),
        name: z.string().nullable(),
        version: z.string().nullable().describe('Names its content as the source does.'),
        sha256: z
          .string()
          .nullable()
          .describe('The SHA-256 of its file as it was delivered; null: it was not one file, or the run was removed.'),
        bytes: Count.nullable(),
        asOf: z.string(),
        end: z.string().nullable().describe('How its end was recognised; null for a file, which is read to its end.'),
        keys: z.string().describe('The SHA-256 of the sorted digests of its keys, each with a line end.'),
        installation: z
          .string()
          .describe(
            'The digest of a key is the SHA-256 of this, the name of the connection and the key, on a line each.',
          ),
      })
      .nullable()
      .describe('The newest accepted export; null: none was accepted.'),
    rows: z
      .object({
        delivered: Count.describe('Counted as the connector delivers them.'),
        announced: Count.nullable().describe('How many the source says it has; null: it does not say.'),
        keyless: Count.describe('Rows whose key is blank or cannot be read.'),
        parts: countsOf(rowParts),
      })
      .nullable(),
    stated: z.object({
      exported: Count.describe('Different keys of the export, counted before the rows are mapped.'),
      further: Count.describe('People whom only an event or an operator stated since.'),
      parts: countsOf(statedParts),
    }),
    platform: z.object({
      records: Count.describe('Records that the platform has, as it acknowledged them or as its list was read.'),
      parts: countsOf(platformParts),
    }),
    addsUp: z.boolean(),
    differences: z.array(z.string()).describe('What does not add up, a sentence each.'),
    unaccounted: z.array(z.string()).describe('Keys of people who are unaccounted for, the first hundred.'),
    unstatedRunId: z
      .string()
      .optional()
      .describe('A later run, ended or delivering for more than a day, whose own statement could not be made.'),
  })
  .meta({ id: 'Statement' })
export type Statement = z.infer<typeof Statement>

/** A person in a part of a statement. */
export const AccountedPerson = z.object({
  identityId: z.string().describe('Of a person who was forgotten: a digest.'),
  name: z.string().nullable().optional().describe('Only where values are asked for.'),
  stated: z.boolean().describe('Whether HR states the key.'),
  part: z.string(),
  onPlatform: z.enum(['employed', 'left']).nullable().describe('How the platform has the person; null: it does not.'),
  detail: z
    .string()
    .nullable()
    .describe('The held or delivering run, the row, the day, what blocks it, or what an operator decided.'),
  sinceRunId: z.string().nullable().describe('The run since whose statement this is so; null: it was removed.'),
})
export type AccountedPerson = z.infer<typeof AccountedPerson>

const At = z
  .string()
  .max(40)
  .optional()
  .describe('A day, of which the last statement is shown, or an instant (ISO 8601). Default: the newest.')

/** The population statements of a connection. */
export const statementOperations = operations({
  getStatement: {
    method: 'GET',
    path: '/connections/:connection/statement',
    permission: 'viewer',
    summary: 'How many people HR states and the platform has, by part.',
    params: z.object({ connection: z.string() }),
    query: z.object({ at: At }),
    success: { 200: Statement },
    errors: [400, 401, 403, 404, 500, 503],
  },
  listStatementPeople: {
    method: 'GET',
    path: '/connections/:connection/statement/people',
    permission: 'viewer',
    summary: 'The people behind a count of a statement, by key.',
    params: z.object({ connection: z.string() }),
    query: z.object({
      at: At,
      side: z.enum(['stated', 'platform']).default('stated').describe('Keys that HR states, or the others.'),
      part: z.string().max(40).optional().describe('Only those in this part.'),
      after: After,
      limit: Limit.default(500),
      values: Values,
    }),
    success: { 200: page(AccountedPerson, z.string()) },
    errors: [400, 401, 403, 404, 500, 503],
  },
})

/**
 * How somebody came into the population or left it. `return`: came back, or was retracted and sent again. `retraction`: was sent by mistake and
 * deleted. `removal`: is no longer on the platform as HR states.
 */
export type MovementKind = 'join' | 'return' | 'leave' | 'retraction' | 'removal'

/** Somebody who came into the population or left it, with what proves it. */
export type Movement = {
  readonly identityId: string
  readonly kind: MovementKind
  readonly entered: boolean
  /** When the first statement was made that has it; null: that statement was removed. */
  readonly at: string | null
  readonly statementRunId: string | null
  /** The run that sent the change; null: none is stored. */
  readonly runId: string | null
  /** The row or event that states it; null: none does, or it is not stored. */
  readonly evidence: string | null
  /** The status with which the platform answered. */
  readonly status: string | null
  readonly answeredAt: string | null
}
