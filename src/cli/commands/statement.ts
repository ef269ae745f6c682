import { statementCsv } from '../../daemon/reports/statement-csv.ts'
import { statementPage } from '../../daemon/reports/statement-page.ts'
import { verifyStatement } from '../../daemon/verify-statement.ts'
import { failures } from '../../errors.ts'
import { jsonText } from '../../text/escape.ts'
import { standardOutput } from '../../text/print.ts'
import { renderComparison, renderStatement } from '../render/statement.ts'
import { createOutput } from '../session/output.ts'
import { allPages } from '../session/pages.ts'
import { type CommonOptions, configOf, requireConnection, withSession } from '../session/session.ts'
import { listenForStop } from '../session/stop-signal.ts'

/** A file format of a population statement. */
type StatementFormat = 'csv' | 'json' | 'html'
/** The options of `rollcall statement`. */
export type StatementOptions = CommonOptions & {
  readonly at?: string
  readonly format?: StatementFormat
  readonly showValues?: boolean
}

/** Shows the newest population statement, or that of a day. Exits with 70 if it does not add up, or no statement could be made after a later run. */
export async function statement(options: StatementOptions): Promise<number> {
  const { at, format } = options
  return await withSession(options, { isReadOnly: true }, async ({ config, control, output }) => {
    const params = { connection: requireConnection(options, config) }
    const stated = await control.getStatement({ params, query: { at } })
    // With an instant, a statement that is made meanwhile does not mix with this one.
    const query = { at: stated.madeAt, limit: 1000, values: output.mayShowValues(options) }
    const listSide = (side: 'stated' | 'platform') =>
      allPages((after?: string) => control.listStatementPeople({ params, query: { ...query, side, after } }))
    if (format === undefined || options.json) output.printResult(stated, renderStatement)
    else if (format === 'html') standardOutput.print(statementPage(stated))
    else {
      const people = [...(await listSide('stated')), ...(await listSide('platform'))]
      standardOutput.print(format === 'csv' ? statementCsv(people) : jsonText({ ...stated, people }))
    }
    return stated.addsUp && stated.unstatedRunId === undefined ? 0 : failures.finished_with_problems.exit
  })
}

/** The options of `rollcall statement verify`. */
export type VerifyStatementOptions = CommonOptions & { readonly export: string; readonly pack: string }

/** Reads HR's export of a night again and compares it with the statement of a pack. Exits with 70 if they differ. */
export async function statementVerify(options: VerifyStatementOptions): Promise<number> {
  const output = createOutput(options)
  const config = await configOf(options, { secrets: 'when needed' })
  if (options.connection !== undefined) requireConnection(options, config)
  using stop = listenForStop()
  const comparison = await verifyStatement(config, {
    ...{ exportPath: options.export, packPath: options.pack, connection: options.connection, signal: stop.signal },
  })
  output.printResult(comparison, renderComparison)
  return comparison.matches ? 0 : failures.finished_with_problems.exit
}
