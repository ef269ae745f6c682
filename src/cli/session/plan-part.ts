import { readFile } from 'node:fs/promises'
import type { ChangeKind, PartSelection } from '../../contract/control/shapes.ts'
import { Failure } from '../../errors.ts'

/** The options that choose a part of a held plan. */
export type PartOptions = {
  readonly only?: readonly ChangeKind[]
  readonly group?: readonly string[]
  readonly withoutGroup?: boolean
  readonly people?: readonly string[]
  readonly peopleFile?: string
}

/** The part of the plan that the options choose; null if they choose none, so the whole plan is meant. */
export async function partOf(options: PartOptions): Promise<PartSelection | null> {
  const { only, group, withoutGroup, people, peopleFile } = options
  const groups = [...(group ?? []), ...(withoutGroup ? [null] : [])]
  const keys = [...(people ?? []).flatMap((list) => list.split(',')), ...(peopleFile ? await linesOf(peopleFile) : [])]
  const named = [...new Set(keys.map((key) => key.trim()).filter((key) => key !== ''))]
  const choosesPeople = people !== undefined || peopleFile !== undefined
  if (choosesPeople && named.length === 0)
    throw new Failure(
      'usage',
      `${peopleFile === undefined ? '--people' : peopleFile} names nobody: give at least one key`,
    )
  if (!only && groups.length === 0 && !choosesPeople) return null
  return {
    ...(only && { kinds: [...new Set(only)] }),
    ...(groups.length > 0 && { groups }),
    ...(choosesPeople && { people: named }),
  }
}

async function linesOf(file: string): Promise<string[]> {
  try {
    const text = await readFile(file, 'utf8')
    return text.replace(/^\uFEFF/, '').split(/\r?\n|\r/)
  } catch (error) {
    throw new Failure('usage', `${file} cannot be read: ${error instanceof Error ? error.message : error}`)
  }
}
