import { allows } from './bad-bodies.ts'
import { bodySchemaOf, bodyWith, type Field, fieldsOf } from './body-fields.ts'
import { fixtureOf } from './fixtures/areas.ts'
import { alternativesOf, type JsonSchema } from './json-schema.ts'
import { everyOperation, type NamedOperation } from './operations.ts'

/** Every operation that stores free texts. */
export const writersOfTexts: readonly NamedOperation[] = everyOperation.filter((named) => freeNames(named).length > 0)

/** The texts of a body that have no format, and that its fixture does not exclude. */
export function freeTexts(named: NamedOperation, body: unknown): Field[] {
  const fields = fieldsOf(bodySchemaOf(named.operation), body)
  return freeNames(named).map((name) => {
    const field = fields.find((one) => fieldName(one) === name && one.alternatives.some(isFree))
    if (field) return field
    throw new Error(`no fixture for ${name} of ${named.name}: its body has no place for it`)
  })
}

/** Whether a body may have this text in that field. */
export function isAllowed(named: NamedOperation, body: unknown, field: Field, text: string): boolean {
  return allows(named.operation, bodyWith(body, field.path, text))
}

/** The function that makes the text for a field that cannot hold the tested one. */
export function otherwiseOf({ name }: NamedOperation, field: Field): ((number: number) => string) | undefined {
  const fate = fixtureOf(name).texts?.[fieldName(field)]
  return fate && 'otherwise' in fate ? fate.otherwise : undefined
}

/** The name of a field from the outermost object on, such as `owner.name`. Positions in lists are left out. */
export function fieldName({ path }: Field): string {
  return path.filter((part) => typeof part === 'string').join('.')
}

function freeNames({ name, operation }: NamedOperation): string[] {
  if (operation.body === undefined) return []
  const { texts = {} } = fixtureOf(name)
  return [...new Set(textNames(bodySchemaOf(operation), []))].filter((text) => !('excluded' in (texts[text] ?? {})))
}

function textNames(schema: JsonSchema, path: readonly string[]): string[] {
  return alternativesOf(schema).flatMap((member) => [
    ...(isFree(member) ? [path.join('.')] : []),
    ...(member.items ? textNames(member.items, path) : []),
    ...Object.entries(member.properties ?? {}).flatMap(([name, inner]) => textNames(inner, [...path, name])),
  ])
}

function isFree({ type, enum: members, const: only, format, pattern }: JsonSchema): boolean {
  return type === 'string' && [members, only, format, pattern].every((limit) => limit === undefined)
}
