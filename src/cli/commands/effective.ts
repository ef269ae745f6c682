import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import {
  type AccountComparison,
  type EffectiveCoverage,
  type EffectiveFinding,
  type EffectiveFixed,
  effectiveCauses,
  maxListedAccounts,
} from '../../contract/control/effective.ts'
import { Failure } from '../../errors.ts'
import { age, escapeText, formatInstant, number, type Paint, pluralize } from '../render/text.ts'
import { allPages } from '../session/pages.ts'
import { type CommonOptions, type Session, withSession } from '../session/session.ts'

/** The options of `rollcall effective`. */
export type EffectiveOptions = CommonOptions & {
  readonly showValues?: boolean
  readonly compare?: boolean
  /** A directory of the configuration, or a file with accounts. */
  readonly directory?: string
}

/** The options of `rollcall effective fix`. */
export type EffectiveFixOptions = CommonOptions & {
  readonly reason: string
  readonly by: string
  readonly yes?: boolean
  readonly showValues?: boolean
}

/** Lists the people whose status on the platform does not match HR's data, and why. With `compare`, everybody is compared first. */
export async function effective({ compare = false, ...options }: EffectiveOptions): Promise<number> {
  return await withSession(options, { isReadOnly: !compare }, async (session) => {
    const { config, control, output } = session
    const { directory } = options
    if (directory !== undefined && !config.directories.has(directory)) return await compareFile(session, options)
    const query = directory === undefined ? {} : { directory }
    const coverage = compare ? await control.compareEffective({ query }) : await control.effectiveCoverage({})
    const findings = await readFindings(session, {
      ...options,
      ...(directory !== undefined && { connection: directory }),
    })
    output.printResult({ ...coverage, ...coverageOfDirectory(coverage, directory), findings }, renderEffective)
    if (coverage.failure !== null && directory === undefined)
      throw new Failure('platform_unreachable', `not everybody could be compared: ${coverage.failure}`)
    const refused = coverage.directories.find(
      (one) => one.failure !== null && (directory ?? one.directory) === one.directory,
    )
    if (refused)
      throw new Failure(
        'source_unreadable',
        `the list of ${refused.directory} could not be compared: ${refused.failure}`,
      )
    return 0
  })
}

/** The part of the coverage about one directory; empty if none was named. */
function coverageOfDirectory({ directories }: EffectiveCoverage, name: string | undefined): Partial<EffectiveCoverage> {
  if (name === undefined) return {}
  return { connections: [], directories: directories.filter(({ directory }) => directory === name) }
}

/** Compares the accounts of a file. The findings are printed and not stored. */
async function compareFile({ config, control, output, signal }: Session, options: EffectiveOptions): Promise<number> {
  const { directory: path = '' } = options
  const known = [...config.directories.keys()].join(', ') || 'none'
  if (!existsSync(path))
    throw new Failure(
      'usage',
      `there is no file ${path}, and no such directory in the configuration, which has ${known}`,
    )
  const { readAccountFile } = await import('../../daemon/account-file.ts')
  const { accounts, asOf, unreadable } = await readAccountFile(path, { now: () => new Date(), signal })
  const body = { directory: basename(path), asOf: asOf.toISOString(), accounts }
  if (accounts.length > maxListedAccounts || Buffer.byteLength(JSON.stringify(body)) > maxBodyBytes)
    throw new Failure('usage', 'the file is too long for one request: set it up as a directory in the configuration')
  const query = { values: output.mayShowValues(options) }
  output.printResult({ ...(await control.compareAccounts({ query, body })), unreadable }, renderAccounts)
  return 0
}

/** Smaller than the body limit of the daemon. */
const maxBodyBytes = 10_000_000

/** A summary of a compared list of accounts, and each finding in three lines. */
export function renderAccounts(
  { accounts, people, unreadable, findings }: AccountComparison & { readonly unreadable: number },
  paint: Paint,
): string {
  const rows = unreadable === 0 ? '' : `; ${pluralize(unreadable, 'row')} could not be read`
  return [
    `${pluralize(accounts, 'account')} compared with ${pluralize(people, 'person', 'people')} of HR: ${pluralize(findings.length, 'finding')}${rows}`,
    ...causeLines(countCauses(findings)),
    ...findings.flatMap((finding) => findingLines(finding, paint)),
  ].join('\n')
}

async function readFindings({ control, output }: Session, options: EffectiveOptions): Promise<EffectiveFinding[]> {
  const values = output.mayShowValues(options)
  const { connection } = options
  return await allPages((after?: string) =>
    control.listEffective({ query: { connection, after, limit: 1000, values } }),
  )
}

/** Resets the sync of these people on the platform; without `yes` it shows only whom it would reset. */
export async function effectiveFix(keys: readonly string[], options: EffectiveFixOptions): Promise<number> {
  const { reason, by, yes = false, connection } = options
  return await withSession(options, { isReadOnly: !yes }, async (session) => {
    if (yes) {
      const body = { keys: [...keys], reason, by, ...(connection !== undefined && { connection }) }
      session.output.printResult(await session.control.fixEffective({ body }), renderEffectiveFixed)
      return 0
    }
    const findings = fixableFindings(keys, await readFindingsOf(session, keys, options))
    session.output.printResult({ findings }, renderResetConfirmation)
    throw new Failure('usage', 'nothing was changed; repeat the command with --yes')
  })
}

/** The findings about these people, asked for one by one. */
async function readFindingsOf(
  { control, output }: Session,
  keys: readonly string[],
  options: EffectiveFixOptions,
): Promise<EffectiveFinding[]> {
  const values = output.mayShowValues(options)
  const { connection } = options
  const findings: EffectiveFinding[] = []
  for (const person of keys)
    findings.push(...(await control.listEffective({ query: { connection, person, values } })).data)
  return findings
}

/** The findings that a reset of these people would fix. Throws if the reset would be refused. */
export function fixableFindings(keys: readonly string[], findings: readonly EffectiveFinding[]): EffectiveFinding[] {
  return keys.flatMap((key) => {
    const own = findings.filter(({ person }) => person === key)
    const fixable = own.filter(({ canReset, personId }) => canReset && personId !== null)
    if (own.length === 0)
      throw new Failure('not_found', `there is no finding about ${key}; rollcall effective lists them`)
    if (fixable.length === 0)
      throw new Failure('conflict', `a reset of the sync does not help ${key}; rollcall effective says what helps`)
    const connections = [...new Set(own.map(({ personConnection }) => personConnection))]
    if (connections.length > 1)
      throw new Failure(
        'conflict',
        `${key} is a key of several connections: ${connections.join(', ')}; name one with --connection`,
      )
    return fixable
  })
}

/** The coverage of each connection, and each finding in three lines. */
export function renderEffective(
  {
    comparedAt,
    syncedAt,
    connections,
    directories,
    findings,
  }: EffectiveCoverage & { readonly findings: readonly EffectiveFinding[] },
  paint: Paint,
): string {
  const isOfDirectory = connections.length === 0 && directories.length > 0
  const synced = syncedAt === null ? '' : `, after the identity sync of ${formatInstant(syncedAt)}`
  const compared =
    comparedAt === null
      ? 'nobody has been compared yet; rollcall effective --compare does it now'
      : `compared ${formatInstant(comparedAt)}${synced}`
  return [
    ...(isOfDirectory ? [] : [compared]),
    ...connections.map(
      ({ connection, comparedAt: ownAt, percent, effective: asImplied, people }) =>
        `${paint('bold', escapeText(connection))}: ${percent} % (${asImplied} of ${pluralize(people, 'person', 'people')}) match HR's data on the platform${ownAt === comparedAt ? '' : `, compared ${formatInstant(ownAt)}`}`,
    ),
    ...directories.map((directory) => directoryLine(directory, paint)),
    ...findings.flatMap((finding) => findingLines(finding, paint)),
  ].join('\n')
}

function directoryLine(
  { directory, comparedAt, asOf, accounts, unreadable, failure, causes }: EffectiveCoverage['directories'][number],
  paint: Paint,
): string {
  const name = paint('bold', escapeText(directory))
  const refused =
    failure === null ? '' : `; ${paint('red', `the newest list could not be compared: ${escapeText(failure)}`)}`
  if (comparedAt === null) return `${name}: its accounts were not compared so far${refused}`
  const rows = unreadable === 0 ? '' : `, ${pluralize(unreadable, 'row')} could not be read`
  const line = `${name}: ${pluralize(accounts, 'account')}, as of ${formatInstant(asOf ?? comparedAt)}${rows}${refused}`
  return [line, ...causeLines(causes)].join('\n')
}

type CauseCounts = EffectiveCoverage['directories'][number]['causes']

function countCauses(findings: readonly EffectiveFinding[]): CauseCounts {
  const groups = Map.groupBy(findings, ({ cause }) => cause)
  return Object.fromEntries([...groups].map(([cause, own]) => [cause, own.length]))
}

/** How many findings there are of each cause, in the order of the documentation. */
function causeLines(causes: CauseCounts): string[] {
  const counts = Object.entries(effectiveCauses).flatMap(([cause, { name }]) => {
    const count = causes[cause as keyof typeof effectiveCauses] ?? 0
    return count === 0 ? [] : [`${name}: ${number(count)}`]
  })
  return counts.length === 0 ? [] : [`  ${counts.join(' · ')}`]
}

function findingLines(finding: EffectiveFinding, paint: Paint): string[] {
  const { connection, person, name, cause, text, evidence, helps, ageSeconds } = finding
  return [
    `  ${paint('bold', escapeText(person))}${name ? ` ${escapeText(name)}` : ''} · ${escapeText(connection)} · ${paint('red', effectiveCauses[cause].name)} · for ${age(ageSeconds)}`,
    `    ${escapeText(text)}${evidence === '' ? '' : ` (${escapeText(evidence)})`}`,
    `    what helps: ${escapeText(helps)}`,
  ]
}

/** The people whom a reset would affect. */
export function renderResetConfirmation(
  { findings }: { readonly findings: readonly EffectiveFinding[] },
  paint: Paint,
): string {
  return [
    'The platform would update these people again at its next identity sync, as HR states them:',
    ...findings.flatMap((finding) => findingLines(finding, paint)),
  ].join('\n')
}

/** Confirms a reset. */
export function renderEffectiveFixed({ keys, reset }: EffectiveFixed, paint: Paint): string {
  return `${paint('green', '✔')} the platform updates ${pluralize(reset, 'person', 'people')} again at its next identity sync: ${keys.map(escapeText).join(', ')}\nwhat is right then leaves the list with the next comparison: rollcall effective --compare`
}
