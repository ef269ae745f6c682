import type { AnsweredKeys, KeyAnswer, KeyPair } from '../../contract/control/keys.ts'
import { Failure } from '../../errors.ts'
import { alignColumns, escapeText, formatInstant, type Paint, pluralize, roomIn, shortId } from '../render/text.ts'
import { requireRunId } from '../session/run-name.ts'
import { type CommonOptions, requireConnection, withSession } from '../session/session.ts'

/** The options of `rollcall alias`. */
export type AliasOptions = CommonOptions & {
  readonly by: string
  readonly twoPeople?: boolean
  readonly undo?: boolean
  readonly run?: string
  readonly all?: boolean
}

type Keys = { readonly former: string; readonly identityId: string }

/** States whether two keys name one person or two; without keys, lists the pairs that wait for an answer, and the answers. */
export async function alias(
  former: string | undefined,
  identityId: string | undefined,
  options: AliasOptions,
): Promise<number> {
  const { by, twoPeople = false, undo = false, run, all = false } = options
  const keys = former !== undefined && identityId !== undefined ? { former, identityId } : null
  if (keys === null && former !== undefined)
    throw new Failure('usage', 'give both keys: the former one, then the new one')
  if ((run !== undefined) !== all) throw new Failure('usage', '--run and --all go together: all pairs of that run')
  if (all && (keys !== null || undo)) throw new Failure('usage', '--all takes neither keys nor --undo')
  if (undo && (keys === null || twoPeople))
    throw new Failure('usage', '--undo takes the two keys of the answer, and no more')
  if (twoPeople && keys === null && !all) throw new Failure('usage', '--two-people takes two keys, or --run and --all')

  return await withSession(options, {}, async ({ config, control, output }) => {
    if (run !== undefined) {
      const runId = await requireRunId(control, run, options)
      output.printResult(
        await control.answerPairs({ params: { runId }, body: { same: !twoPeople, by } }),
        renderAnswered,
      )
      return 0
    }
    const params = { connection: requireConnection(options, config) }
    if (keys === null) output.printResult(await control.listKeys({ params, query: {} }), renderKeys)
    else if (undo)
      output.printResult(await control.withdrawKeys({ params, body: { ...keys, by } }), renderWithdrawn(keys))
    else {
      const body = { ...keys, same: !twoPeople, by }
      output.printResult(await control.answerKeys({ params, body }), renderAnswer(body))
    }
    return 0
  })
}

function renderAnswer({ former, identityId, same }: Keys & { readonly same: boolean }) {
  return ({ moved }: AnsweredKeys, paint: Paint): string => {
    const statement = same
      ? `${escapeText(identityId)} is the key of the person ${escapeText(former)} from now on`
      : `${escapeText(former)} and ${escapeText(identityId)} are two people`
    return `${paint('green', '✔')} ${statement}${nextStep(moved)}`
  }
}

function renderWithdrawn({ former, identityId }: Keys) {
  return ({ moved }: AnsweredKeys, paint: Paint): string =>
    `${paint('green', '✔')} there is no longer an answer about ${escapeText(former)} and ${escapeText(identityId)}${nextStep(moved)}`
}

/** Confirms the answers about the pairs of a run. */
export function renderAnswered({ answered, unclear, moved }: AnsweredKeys, paint: Paint): string {
  const unclearText =
    unclear === 0 ? '' : `; ${pluralize(unclear, 'pair is', 'pairs are')} ambiguous: answer each one with its two keys`
  return `${paint('green', '✔')} ${pluralize(answered, 'pair is', 'pairs are')} answered${nextStep(moved)}${unclearText}`
}

/** What an answer changes. `affectedPlans`: the number of held plans with these people, which an approval makes again. */
function nextStep(affectedPlans: number): string {
  return affectedPlans === 0
    ? '; it applies from the next run on (rollcall sync)'
    : `; approve the held ${affectedPlans === 1 ? 'run' : 'runs'} to have ${affectedPlans === 1 ? 'it' : 'them'} planned again (rollcall approve)`
}

const inCommon = { email: 'e-mail', name: 'name and start', both: 'e-mail, name and start' } as const

/** The pairs that wait for an answer, and the answers. */
export function renderKeys(
  { pairs, answers }: { readonly pairs: readonly KeyPair[]; readonly answers: readonly KeyAnswer[] },
  paint: Paint,
): string {
  if (pairs.length === 0 && answers.length === 0) return 'no key in a held plan looks changed, and there are no answers'
  const open = pairs.map(({ former, identityId, by, clear, runId }) => [
    `${escapeText(former)} → ${escapeText(identityId)}`,
    `the same ${inCommon[by]}${clear ? '' : ', ambiguous'}`,
    `run ${shortId(runId)}`,
  ])
  const answerRows = answers.map(({ former, identityId, same, by, at }) => [
    `${escapeText(former)} → ${escapeText(identityId)}`,
    same ? 'one person' : 'two people',
    `${escapeText(by)}, ${formatInstant(at)}`,
  ])
  return [
    ...(open.length === 0 ? [] : [paint('bold', 'Waiting for an answer'), ...table(open, paint)]),
    ...(answerRows.length === 0 ? [] : [paint('bold', 'Answered'), ...table(answerRows, paint)]),
  ].join('\n')
}

function table(rows: readonly string[][], paint: Paint): string[] {
  return alignColumns(rows, (cell, _row, column) => (column > 1 ? paint('dim', cell) : cell), roomIn(paint, 2)).map(
    (line) => `  ${line}`,
  )
}
