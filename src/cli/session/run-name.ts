import type { Run } from '../../contract/control/shapes.ts'
import { Failure } from '../../errors.ts'
import { alignColumns, formatInstant, shortId } from '../render/text.ts'
import type { Control } from './control-client.ts'

type RunScope = { readonly connection?: string }

const wholeId = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** True for a name that may mean another run a moment later: `last` and `@held`. */
export function isMoving(name: string): boolean {
  return /^(?:last|@)/i.test(name.trim())
}

/** The ID of the run that a person named: by its ID, by the beginning of it, as `last` or `last-1`, or as `@held`. It is never guessed. */
export async function requireRunId(control: Control, name: string, { connection }: RunScope = {}): Promise<string> {
  if (wholeId.test(name)) return name.toLowerCase()
  await refuseNoName(name)
  const { data, more } = await control.findRuns({ params: { name }, query: { connection } })
  const [only, ...others] = data
  if (only === undefined) throw new Failure('not_found', noRun(name, connection))
  if (others.length === 0) return only.id
  throw new Failure('usage', [
    name.startsWith('@')
      ? `several runs are held: name one of them`
      : `several runs begin with ${name}: give more of the id`,
    ...candidateLines(data),
    ...(more ? ['  … and others'] : []),
  ])
}

async function refuseNoName(name: string): Promise<void> {
  // The schema is loaded with the request for the run.
  const { RunName } = await import('../../contract/control/run-names.ts')
  const { error } = RunName.safeParse(name)
  if (error) throw new Failure('usage', `"${name}" ${error.issues[0]?.message}`)
}

function noRun(name: string, connection: string | undefined): string {
  const of = connection === undefined ? '' : ` of "${connection}"`
  if (name.startsWith('@')) return `no run${of} is held; "rollcall runs" lists all`
  if (name.startsWith('last')) return `there is no run${of} that "${name}" could mean; "rollcall runs" lists all`
  return `there is no run${of} whose id begins with ${name}; "rollcall runs" lists them`
}

function candidateLines(runs: readonly Run[]): string[] {
  const short = new Set(runs.map(({ id }) => shortId(id)))
  const rows = runs.map(({ id, connection, state, createdAt }) => [
    short.size === runs.length ? shortId(id) : id,
    connection,
    state,
    formatInstant(createdAt),
  ])
  return alignColumns(rows, (cell) => cell).map((line) => `  ${line}`)
}
