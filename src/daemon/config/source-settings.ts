import { z } from 'zod'
import type { ConnectorKind } from '../../connectors/kind.ts'
import { connectorKinds } from '../../connectors/registry/registry.ts'
import { ScimSource } from '../../connectors/scim/settings.ts'
import { WebhookSettings } from '../../connectors/webhook/settings.ts'
import { MappingPatch } from '../../identity/mapping/mapping.ts'

/** Describes `statusMeans`. */
export const statusMeansText =
  'When a status that says "left" takes effect. now (default): at once. onDate: on the leaving date of the row, for systems that set it ahead.'
/** Describes `onBadCell`. */
export const onBadCellText =
  'What happens if a cell cannot be read. keepField (default): its field stays as it was. rejectRow: the whole row is rejected.'

const mappingSettings = {
  preset: z
    .string()
    .optional()
    .describe(
      'A preset with the columns of a system, such as workday, or a recipe that also reads its list, such as personio-api.',
    ),
  fields: MappingPatch.shape.fields.describe('Which column holds which field. This adds to the preset.'),
  record: MappingPatch.shape.record,
  status: MappingPatch.shape.status.describe('The column that says whether a person has left.'),
  statusMeans: MappingPatch.shape.statusMeans.describe(statusMeansText),
  action: MappingPatch.shape.action.describe('The column of a delta that says what each row is about.'),
  severalRows: MappingPatch.shape.severalRows.describe('What several rows of one person mean.'),
  onBadCell: MappingPatch.shape.onBadCell.describe(onBadCellText),
  rowTimeZone: MappingPatch.shape.rowTimeZone.describe("The column that names the time zone of a row's dates."),
}

/** The settings of sources that list everybody. */
export const snapshotSettings = {
  scope: MappingPatch.shape.scope.describe(
    'Which rows are read: a JSONata expression over the columns that gives true or false. Default: all.',
  ),
  group: MappingPatch.shape.group.describe(
    'The column with the group of each person, such as the department, by which a part of a held plan can be approved. It stays in Rollcall.',
  ),
  outOfScope: z
    .enum(['hold', 'keep', 'separate'])
    .default('hold')
    .describe(
      'What follows for a person who was sent and whose row is no longer in scope. hold: the plan is held until a person decides. ' +
        'keep: the person stays as known. separate: the person is separated.',
    ),
  absence: z
    .enum(['separate', 'hold', 'ignore'])
    .default('separate')
    .describe(
      'What follows when a person is missing from a snapshot. separate: the person is separated. hold: the plan is held until a ' +
        'person decides. ignore: nothing.',
    ),
  graceRuns: z
    .int()
    .min(1)
    .default(1)
    .describe('How many accepted snapshots in a row a person must be missing from before the absence counts.'),
}

// Events apply one after the other, so several of one person need no rule.
const { severalRows: _severalRows, ...eventMapping } = mappingSettings
// A user of SCIM says by itself whether it is active, and is one document of a standard.
const { preset: _preset, action: _action, ...pushedMapping } = eventMapping
const PushedSource = ScimSource.safeExtend(pushedMapping)

const [firstKind, ...otherKinds] = connectorKinds
/** A source of a connection, as the file has it: one alternative for each kind of connector, and one for people who are pushed. */
export const Source = z.discriminatedUnion('type', [sourceOf(firstKind), ...otherKinds.map(sourceOf), PushedSource])

/** A source whose people an identity system pushes. */
export type PushedSource = z.infer<typeof PushedSource>
/** A source that is read. */
export type ReadSource = z.infer<ReturnType<typeof sourceOf>>

/** Whether an identity system pushes the people of a source, so that nothing is read. */
export function isPushed(source: PushedSource | ReadSource): source is PushedSource {
  return source.type === 'scim'
}

/** A source that is read; undefined for one that is pushed. */
export function readSource(source: PushedSource | ReadSource | undefined): ReadSource | undefined {
  return source === undefined || isPushed(source) ? undefined : source
}

function sourceOf({ settings }: ConnectorKind) {
  return settings.safeExtend({ ...mappingSettings, ...snapshotSettings })
}

/** The webhook of a connection, as the file has it. */
export const Webhook = WebhookSettings.safeExtend(eventMapping)

/** Settings of a connection that must come from the environment or from a file. A list holds one in each place. */
export const connectionSecrets: readonly string[] = [...sourcePaths((kind) => kind.secrets), 'webhook.secrets']

/** Settings that may be a secret, as where a key takes the place of a user's name, and may stand in the configuration. */
export const possibleSecrets: readonly string[] = sourcePaths((kind) => kind.possibleSecrets)

/** These settings of every kind of source, each once. */
function sourcePaths(pathsOf: (kind: ConnectorKind) => readonly string[]): string[] {
  return [...new Set(connectorKinds.flatMap(pathsOf))].map((path) => `source.${path}`)
}
