import type { ClassifiedValue } from '../../contract/control/shapes.ts'
import { Failure } from '../../errors.ts'
import { alignColumns, escapeText, formatInstant, type Paint, roomIn } from '../render/text.ts'
import { type CommonOptions, requireConnection, withSession } from '../session/session.ts'

/** The options of `rollcall accept-status`. */
export type AcceptStatusOptions = CommonOptions & { readonly by: string; readonly as?: ClassifiedValue['as'] }

/** States what a value means that no list of the configuration has; without a value, lists the meanings stated so far. */
export async function acceptStatus(value: string | undefined, options: AcceptStatusOptions): Promise<number> {
  const { as, by } = options
  if ((value === undefined) !== (as === undefined))
    throw new Failure('usage', 'give a value and --as, or neither to list what was said')
  return await withSession(options, {}, async ({ config, control, output }) => {
    const params = { connection: requireConnection(options, config) }
    if (value === undefined || as === undefined) {
      output.printResult({ values: (await control.listValues({ params })).data }, ({ values }, paint) =>
        renderValues(values, paint),
      )
    } else {
      output.printResult(await control.classifyValue({ params, body: { value, as, by } }), renderClassified)
    }
    return 0
  })
}

/** Confirms the meaning of a value. */
export function renderClassified({ field, value, as }: ClassifiedValue, paint: Paint): string {
  return `${paint('green', '✔')} ${field} "${escapeText(value)}" means ${as} from now on; the next run uses it (rollcall sync)`
}

/** The values that were given a meaning, one line each. */
export function renderValues(values: readonly ClassifiedValue[], paint: Paint): string {
  if (values.length === 0) return 'no value was given a meaning; only the lists of the configuration apply'
  const rows = values.map(({ field, value, as, by, at }) => [
    `"${escapeText(value)}"`,
    as,
    field,
    `${escapeText(by)}, ${formatInstant(at)}`,
  ])
  return alignColumns(rows, (cell, _row, column) => (column > 1 ? paint('dim', cell) : cell), roomIn(paint)).join('\n')
}
