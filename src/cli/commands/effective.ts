import type { EffectiveCoverage, EffectiveFinding, EffectiveFixed } from '../../contract/control/effective.ts'
import { Failure } from '../../errors.ts'
import { age, escapeText, formatInstant, type Paint, pluralize } from '../render/text.ts'
import { allPages } from '../session/pages.ts'
import { type CommonOptions, type Session, withSession } from '../session/session.ts'

/** The options of `rollcall effective`. */
export type EffectiveOptions = CommonOptions & { readonly showValues?: boolean; readonly compare?: boolean }

/** The options of `rollcall effective fix`. */
export type EffectiveFixOptions = CommonOptions & {
  readonly reason: string
  readonly by: string
  readonly yes?: boolean
  readonly showValues?: boolean
}

/** Lists the people whom the platform does not show as HR implies, and why. With `compare`, everybody is compared first. */
export async function effective({ compare = false, ...options }: EffectiveOptions): Promise<number> {
  return await withSession(options, { isReadOnly: !compare }, async (session) => {
    const coverage = compare ? await session.control.compareEffective({}) : await session.control.effectiveCoverage({})
    const findings = await readFindings(session, options)
    session.output.printResult({ ...coverage, findings }, renderEffective)
    if (coverage.failure !== null)
      throw new Failure('platform_unreachable', `not everybody could be compared: ${coverage.failure}`)
    return 0
  })
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
    const findings = (await readFindings(session, options)).filter(({ person }) => keys.includes(person))
    session.output.printResult({ findings }, renderEffectiveQuestion)
    throw new Failure('usage', 'nothing was changed; repeat the command with --yes')
  })
}

/** The coverage of each connection, and each finding in three lines. */
export function renderEffective(
  {
    comparedAt,
    syncedAt,
    connections,
    findings,
  }: EffectiveCoverage & { readonly findings: readonly EffectiveFinding[] },
  paint: Paint,
): string {
  if (comparedAt === null) return 'nobody was compared so far; rollcall effective --compare does it now'
  const synced = syncedAt === null ? '' : `, after the identity sync of ${formatInstant(syncedAt)}`
  return [
    `compared ${formatInstant(comparedAt)}${synced}`,
    ...connections.map(
      ({ connection, percent, effective: shown, people }) =>
        `${paint('bold', escapeText(connection))}: ${percent} % (${shown} of ${pluralize(people, 'person', 'people')}) are shown as HR implies`,
    ),
    ...findings.flatMap((finding) => findingLines(finding, paint)),
  ].join('\n')
}

function findingLines(finding: EffectiveFinding, paint: Paint): string[] {
  const { connection, person, name, cause, text, evidence, helps, ageSeconds } = finding
  return [
    `  ${paint('bold', escapeText(person))}${name ? ` ${escapeText(name)}` : ''} · ${escapeText(connection)} · ${paint('red', cause)} · for ${age(ageSeconds)}`,
    `    ${escapeText(text)}${evidence === '' ? '' : ` (${escapeText(evidence)})`}`,
    `    what helps: ${escapeText(helps)}`,
  ]
}

/** Whom a reset would concern. */
export function renderEffectiveQuestion(
  { findings }: { readonly findings: readonly EffectiveFinding[] },
  paint: Paint,
): string {
  if (findings.length === 0) return 'there is no finding about these people'
  return [
    'The platform would update these people again at its next identity sync, as HR states them:',
    ...findings.flatMap((finding) => findingLines(finding, paint)),
  ].join('\n')
}

/** Confirms a reset. */
export function renderEffectiveFixed({ keys, reset }: EffectiveFixed, paint: Paint): string {
  return `${paint('green', '✔')} the platform updates ${pluralize(reset, 'person', 'people')} again at its next identity sync: ${keys.map(escapeText).join(', ')}`
}
