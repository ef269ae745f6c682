type Json = { readonly [key: string]: unknown }

/** What a document says about its operations: by operation, where each fact stands in it, and the value. */
export type Facts = ReadonlyMap<string, ReadonlyMap<string, string>>

const limits = [
  'type',
  'format',
  'default',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
] as const

const methods = ['get', 'post', 'put', 'patch', 'delete'] as const

/** The facts about the operations at these paths. Reads OpenAPI 3.0 and 3.1, and says the same for both where they mean the same. */
export function factsOf(document: Json, paths: readonly string[]): Facts {
  const facts = new Map<string, ReadonlyMap<string, string>>()
  for (const path of paths) {
    for (const method of methods) {
      const operation = get(document, 'paths', path, method)
      if (isObject(operation)) facts.set(`${method.toUpperCase()} ${path}`, operationFacts(document, operation))
    }
  }
  return facts
}

/** Every fact that only one side states or that the two state differently, as a sentence. */
export function differences(published: Facts, ours: Facts): string[] {
  return union(published, ours).flatMap((operation) => {
    const [theirs, own] = [published.get(operation), ours.get(operation)]
    if (theirs === undefined) return [`${operation}: not published`]
    if (own === undefined) return [`${operation}: published only`]
    return union(theirs, own).flatMap((path) => {
      const [before = 'none', after = 'none'] = [theirs.get(path), own.get(path)]
      return before === after ? [] : [`${operation} ${path}: published ${before}, ours ${after}`]
    })
  })
}

function union(one: ReadonlyMap<string, unknown>, other: ReadonlyMap<string, unknown>): string[] {
  return [...new Set([...one.keys(), ...other.keys()])].sort()
}

function operationFacts(document: Json, operation: Json): ReadonlyMap<string, string> {
  const facts = new Map<string, string>()
  facts.set('permission', list(operation['x-drata-permissions'] ?? operation['x-permissions'] ?? []))
  facts.set('entitlement', list(operation['x-drata-entitlement'] ?? operation['x-entitlement'] ?? []))
  for (const parameter of objects(operation.parameters)) {
    const path = `${parameter.in} ${parameter.name}`
    facts.set(`${path} required`, String(parameter.required === true))
    addSchema(facts, document, path, object(parameter.schema))
  }
  const body = get(operation, 'requestBody', 'content', 'application/json', 'schema')
  if (isObject(body)) {
    facts.set('body required', String(get(operation, 'requestBody', 'required') === true))
    addSchema(facts, document, 'body', body)
  }
  for (const [status, response] of Object.entries(object(operation.responses))) {
    const schema = get(response, 'content', 'application/json', 'schema')
    facts.set(`${status} answer`, isObject(schema) ? 'with a body' : 'without a body')
    if (isObject(schema)) addSchema(facts, document, status, schema)
  }
  return facts
}

function addSchema(facts: Map<string, string>, document: Json, path: string, schema: Json): void {
  const { inner, nullable } = resolve(document, schema)
  const alternatives = objects(inner.oneOf ?? inner.anyOf)
  if (alternatives.length > 0) {
    facts.set(`${path} type`, list(alternatives.map((alternative) => resolve(document, alternative).inner.type)))
  }
  for (const limit of limits) {
    if (inner[limit] !== undefined) facts.set(`${path} ${limit}`, list(inner[limit], 'null'))
  }
  facts.set(`${path} nullable`, String(nullable))
  if (Array.isArray(inner.enum)) for (const value of inner.enum) facts.set(`${path} value ${value}`, 'allowed')
  if (isObject(inner.items)) addSchema(facts, document, `${path}[]`, inner.items)
  const required = Array.isArray(inner.required) ? inner.required : []
  for (const [name, property] of Object.entries(object(inner.properties))) {
    facts.set(`${path}.${name} required`, String(required.includes(name)))
    addSchema(facts, document, `${path}.${name}`, object(property))
  }
}

/** Follows references and single-member compositions, and says whether null is allowed on the way (`nullable` of 3.0, a null member in 3.1). */
function resolve(document: Json, schema: Json): { inner: Json; nullable: boolean } {
  if (typeof schema.$ref === 'string') {
    const name = schema.$ref.split('/').at(-1) ?? ''
    return resolve(document, object(get(document, 'components', 'schemas', name)))
  }
  const [only, ...others] = objects(schema.allOf)
  if (only !== undefined && others.length === 0) {
    const { inner, nullable } = resolve(document, only)
    return { inner, nullable: nullable || schema.nullable === true }
  }
  const members = objects(schema.anyOf)
  const notNull = members.filter(({ type }) => type !== 'null')
  const [single] = notNull
  if (single !== undefined && notNull.length === 1) return { ...resolve(document, single), nullable: true }
  return { inner: schema, nullable: schema.nullable === true || [schema.type].flat().includes('null') }
}

function list(value: unknown, omitted?: string): string {
  const members = [value].flat().filter((member) => member !== omitted)
  return members.map(String).sort().join(' or ')
}

function get(value: unknown, ...keys: readonly string[]): unknown {
  return keys.reduce<unknown>((inner, key) => (isObject(inner) ? inner[key] : undefined), value)
}

function object(value: unknown): Json {
  return isObject(value) ? value : {}
}

function objects(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
