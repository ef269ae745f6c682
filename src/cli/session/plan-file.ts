import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { z } from 'zod'
import { PlanDocument } from '../../contract/control/plan-shapes.ts'
import { errorCode, Failure } from '../../errors.ts'
import { jsonText } from '../../text/escape.ts'

const format = 1

/** Saves a plan in a file that only its owner can read. An existing file stays. */
export async function writePlanFile(path: string, plan: PlanDocument): Promise<void> {
  const text = jsonText(inOrder({ rollcall: 'plan', format, plan, seal: sealOf(plan) }))
  try {
    await writeFile(path, text, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    const code = errorCode(error)
    const why = code === 'EEXIST' ? 'it exists already, and is not replaced' : `cannot be written (${code})`
    throw new Failure('usage', `${path}: ${why}`, { cause: error })
  }
}

const PlanFile = z.object({
  rollcall: z.literal('plan'),
  format: z.literal(format),
  plan: z.unknown(),
  seal: z.string(),
})

/** Reads a saved plan. An edited or cut one is refused: nobody has seen what it contains now. */
export async function readPlanFile(path: string): Promise<PlanDocument> {
  const file = PlanFile.safeParse(await jsonOf(path))
  if (!file.success) throw new Failure('usage', `${path} is not a plan written by "rollcall plan --out"`)
  const { plan, seal } = file.data
  const document = PlanDocument.safeParse(plan)
  if (!document.success || seal !== sealOf(plan))
    throw new Failure('conflict', `${path} was edited after "rollcall plan --out" wrote it: plan again`)
  return document.data
}

async function jsonOf(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'))
  } catch (error) {
    if (error instanceof SyntaxError) throw new Failure('usage', `${path} is cut off, or no plan`, { cause: error })
    throw new Failure('usage', `${path} cannot be read (${errorCode(error)})`, { cause: error })
  }
}

/** Detects an accidental edit. Nothing depends on it: a run compares the plan's digest with its own plan. */
function sealOf(plan: unknown): string {
  return `sha256:${createHash('sha256')
    .update(JSON.stringify(inOrder(plan)))
    .digest('hex')}`
}

/** The same value with the members of its objects sorted by name. */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(members.map(([name, member]) => [name, inOrder(member)]))
}
