import { Document, isMap, isNode, isScalar, type Pair, parseDocument, type Scalar, visit, type YAMLMap } from 'yaml'
import { Failure } from '../../errors.ts'
import { isTimeZone } from '../../identity/mapping/zones.ts'
import { escapeText } from '../../text/escape.ts'
import type { Proposal, ValueCount } from './proposal.ts'

/** The settings of a configuration besides its connection. */
type ConfigurationSettings = {
  readonly platform: { readonly region: string } | { readonly baseUrl: string }
  /** As a reference, such as ${file:platform.key}. */
  readonly apiKey: string
  /** The address of the daemon, for those who reach it from elsewhere. */
  readonly publicUrl?: string | null
}

/** The settings of a connection besides how the export is read. */
type NewConnection = {
  /** The name of the connection in the configuration, and on the platform. */
  readonly name: string
  readonly target: string
  readonly timeZone: string
  /** The settings of the source that locate the export. */
  readonly source: Readonly<Record<string, unknown>>
}

/** Comments by the path of their setting. A comment stands above its setting, or behind it on the same line if the comment begins with >. */
type Comments = Readonly<Record<string, string>>

/** A connection for a configuration file. Secrets are references, never values. */
export type ConnectionText = { readonly connections: object; readonly comments: Comments }

/** The connection of an export that is read as proposed. */
export function exportConnection(proposal: Proposal, connection: NewConnection): ConnectionText {
  const { fields, status, scope, severalRows } = proposal.mapping
  refuseReferences([connection.target, fields, status, scope, severalRows, proposal.table.workbook])
  return { connections: connectionsOf(proposal, connection), comments: commentsOn(proposal, connection) }
}

/**
 * Refuses `${` in values that a person or an export gives: the configuration would read it as a reference, and put a file or a variable of
 * the machine in its place.
 */
export function refuseReferences(values: unknown): void {
  if (!JSON.stringify(values)?.includes('${')) return
  throw new Failure(
    'usage',
    `a name, a column or a value holds \${, which begins a reference such as \${file:…}: give the value itself, and rename such a column`,
  )
}

/** A configuration in YAML, with comments, and with secrets as references only. */
export function configurationText(
  { connections, comments }: ConnectionText,
  { platform, apiKey, publicUrl = null }: ConfigurationSettings,
): string {
  const server = publicUrl !== null && { server: { publicUrl } }
  const document = new Document({ platform: { ...platform, apiKey }, dataDir: './data', ...server, connections })
  document.commentBefore = [
    ' Written by "rollcall init". docs/configure.md explains the settings, docs/settings.md lists them all.',
    ' Paths are relative to the folder of this file. Test it with "rollcall check"; "rollcall plan" shows what a run would do.',
  ].join('\n')
  return toYaml(document, {
    platform: 'Where changes go. The key is read from its file each time, so that it can be replaced.',
    dataDir:
      'State and queue live here. For more than some ten thousand people: database: postgres://… (docs/install.md).',
    ...comments,
  })
}

/** Adds this connection to a configuration without connections. Everything else stays as written, character by character. */
export function withConnection(text: string, connection: ConnectionText): string {
  const rest = withoutEmptyConnections(text)
  return `${rest}${rest === '' || rest.endsWith('\n') ? '' : '\n'}\n${connectionText(connection)}`
}

/** The connection alone, in YAML with comments. */
export function connectionText({ connections, comments }: ConnectionText): string {
  return toYaml(new Document({ connections }), comments)
}

/** A name as the configuration takes it for a connection. */
export function toConnectionName(name: string): string {
  const plain = name.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase()
  return (
    plain
      .replaceAll(/[^a-z0-9]+/g, '-')
      .replaceAll(/^-+|-+$/g, '')
      .slice(0, 40) || 'hr'
  )
}

/** Removes an empty `connections: {}` from the text. */
function withoutEmptyConnections(text: string): string {
  const { contents } = parseDocument(text)
  const pair = isMap(contents) ? pairOf(contents as YAMLMap, 'connections') : undefined
  if (pair === undefined) return text
  const [from = 0] = pair.key.range ?? []
  const [, to = from] = (isNode(pair.value) ? pair.value.range : null) ?? []
  const end = text.indexOf('\n', to)
  return text.slice(0, from) + (end < 0 ? '' : text.slice(end + 1))
}

function connectionsOf(proposal: Proposal, { name, target, timeZone, source }: NewConnection): object {
  const { mapping } = proposal
  const fields = Object.fromEntries(Object.entries(mapping.fields ?? {}).filter(([, rule]) => rule !== undefined))
  return {
    [name]: {
      target: { name: target },
      source: {
        ...source,
        mode: 'snapshot',
        ...formOf(proposal),
        preset: proposal.preset,
        ...(Object.keys(fields).length > 0 && { fields }),
        ...(mapping.status !== undefined && {
          status: mapping.status === null ? null : statusOf(mapping.status, proposal),
        }),
        ...(mapping.scope && { scope: mapping.scope }),
        ...(mapping.severalRows && { severalRows: mapping.severalRows }),
        timeZone,
      },
      schedule: { cron: '0 2 * * *' },
    },
  }
}

function commentsOn(proposal: Proposal, { name }: NewConnection): Comments {
  const at = `connections.${name}`
  return {
    [`${at}.target`]: 'The custom connection on the platform; it is created if it is missing.',
    [`${at}.source.mode`]: '> the export lists everybody: people missing from it are treated as leavers',
    [`${at}.source.preset`]: [
      `${proposal.title}: ${proposal.why}.`,
      'Read from the export:',
      ...proposal.fields.map(({ field, column }) => `  ${field} ← ${escapeText(column)}`),
      `Left in the file: ${proposal.unreadColumns.map(escapeText).join(', ') || 'nothing'}.`,
    ].join('\n'),
    [`${at}.source.fields`]: 'On top of the preset.',
    ...(proposal.statuses !== null && {
      [`${at}.source.status`]: [
        'What each status means. A status in neither list holds the plan until an operator classifies it.',
        ...valueLines('left', proposal.statuses.left),
        ...valueLines('employed', proposal.statuses.employed),
        ...valueLines('not classified yet', proposal.statuses.open),
      ].join('\n'),
    }),
    [`${at}.source.scope`]: 'Several rows share a key: only rows in this scope are read.',
    [`${at}.source.severalRows`]: 'Several rows share a key: the latest row applies.',
    [`${at}.source.timeZone`]: '> of the dates in the export',
    [`${at}.schedule`]: 'When the daemon reads the export: every night at two.',
  }
}

function toYaml(document: Document, comments: Comments): string {
  visit(document, {
    Seq(_key, list) {
      list.flow = true
    },
  })
  addComments(document, comments)
  return document.toString({ lineWidth: 120, singleQuote: true })
}

const defaultForm = {
  encoding: 'utf-8',
  delimiter: ',',
  headerLine: 1,
  linesAfterHeader: 0,
  lastLine: 'terminated',
} as const

/** The IANA time zone of that name; refuses an unknown one. */
export function requireTimeZone(name: string): string {
  if (isTimeZone(name)) return name
  throw new Failure('usage', `unknown time zone "${name}": write an IANA name such as Europe/Berlin`)
}

/** The settings of the file's form that differ from the preset and the defaults. */
function formOf({ table, form }: Proposal): Readonly<Record<string, unknown>> {
  if (table.isList) return {}
  const { encoding, delimiter, headerLine, linesAfterHeader, lastLine, workbook } = table
  // A preset knows the form of text exports only.
  const expected: Readonly<Record<string, unknown>> = workbook ? defaultForm : { ...defaultForm, ...form }
  const sheet = workbook && { format: 'xlsx', ...(workbook.sheet !== null && { sheet: workbook.sheet }) }
  const actual = { ...sheet, encoding, delimiter, headerLine, linesAfterHeader, lastLine }
  return Object.fromEntries(Object.entries(actual).filter(([setting, value]) => expected[setting] !== value))
}

/** The status rule with the column of this export, and not optional: without that column nothing would state who has left. */
function statusOf(
  { column, optional: _optional, ...rule }: NonNullable<Proposal['mapping']['status']>,
  { statuses }: Proposal,
): Readonly<Record<string, unknown>> {
  return { ...(column !== undefined && { column: statuses?.column ?? column }), ...rule }
}

function valueLines(meaning: string, values: readonly ValueCount[]): string[] {
  if (values.length === 0) return []
  return [`  ${meaning}: ${values.map(({ value, rows }) => `${escapeText(value)} (${rows})`).join(', ')}`]
}

function addComments(document: Document, comments: Comments): void {
  for (const [path, text] of Object.entries(comments)) {
    const names = path.split('.')
    const parent = document.getIn(names.slice(0, -1), true) ?? document.contents
    const pair = isMap(parent) ? pairOf(parent, names.at(-1) ?? '') : undefined
    if (pair === undefined) continue
    if (text.startsWith('> ')) {
      const value = pair.value
      if (isScalar(value)) value.comment = ` ${text.slice(2)}`
    } else pair.key.commentBefore = text.replaceAll(/^/gm, ' ')
  }
}

function pairOf(map: YAMLMap, name: string): Pair<Scalar, unknown> | undefined {
  return map.items.find((pair): pair is Pair<Scalar, unknown> => isScalar(pair.key) && pair.key.value === name)
}
