import scimmy from 'scimmy'

/** What a resource is. */
export type ScimKind = 'User' | 'Group'

/** An attribute of a schema, as RFC 7643 describes it. */
export type Attribute = {
  readonly name: string
  readonly type: string
  readonly multiValued: boolean
  readonly mutability: string
  readonly caseExact: boolean
  readonly required: boolean
  readonly subAttributes: readonly Attribute[]
}

/** The URN of the attributes of every user. */
export const userSchema = 'urn:ietf:params:scim:schemas:core:2.0:User'
/** The URN of the attributes of every group. */
const groupSchema = 'urn:ietf:params:scim:schemas:core:2.0:Group'
/** The URN of the attributes of users in companies. */
export const enterpriseSchema = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'

/** The URN of the schema of each kind. */
export const coreSchemas: Readonly<Record<ScimKind, string>> = { User: userSchema, Group: groupSchema }

type Definition = { readonly name?: unknown; readonly subAttributes?: readonly Definition[] } & Readonly<
  Record<string, unknown>
>
type SchemaDocument = Readonly<Record<string, unknown>> & { readonly id: string }

const { User, EnterpriseUser, Group } = scimmy.Schemas

/** The schemas as the standard defines them. A password is refused by nobody and stored by nobody, so that no schema has it. */
export const schemaDocuments: readonly SchemaDocument[] = [User, EnterpriseUser, Group].map(({ definition }) => {
  const described: Definition & { readonly id: string } = JSON.parse(JSON.stringify(definition.describe()))
  const attributes = (described.attributes as readonly Definition[]).filter(({ name }) => name !== 'password')
  const { meta: _meta, ...document } = described
  return { ...document, attributes: attributes.map(describedAttribute) }
})

/** Attributes of every resource that only this side writes; what a sender says of them is ignored. */
const ownAttributes: readonly Attribute[] = ['id', 'meta', 'schemas', 'groups'].map((name) =>
  toAttribute({ name, type: 'complex', multiValued: false, mutability: 'readOnly' }),
)
const externalId = toAttribute({ name: 'externalId', type: 'string', caseExact: true })

const attributesBySchema = new Map(
  schemaDocuments.map(({ id, attributes }) => {
    const own = (attributes as readonly Definition[]).map(toAttribute).filter(({ name }) => name !== 'groups')
    return [id, id === enterpriseSchema ? own : [...ownAttributes, externalId, ...own]]
  }),
)

/** The attributes of a schema; null for an extension that the standard does not know, which may have any. */
export function attributesOf(schema: string): readonly Attribute[] | null {
  return attributesBySchema.get(schema) ?? null
}

/** The attribute of this name, whose case does not matter (RFC 7643, section 2.1). */
export function findAttribute(attributes: readonly Attribute[], name: string): Attribute | undefined {
  const folded = name.toLowerCase()
  return attributes.find((attribute) => attribute.name.toLowerCase() === folded)
}

/** Whether a name is that of a schema extension. */
export function isExtensionName(name: string): boolean {
  return /^urn:/i.test(name)
}

/** A schema by its URN in the usual spelling: those of the standard are recognised in any case. */
export function findSchema(urn: string): string {
  const folded = urn.toLowerCase()
  return [userSchema, groupSchema, enterpriseSchema].find((known) => known.toLowerCase() === folded) ?? urn
}

function toAttribute(definition: Definition): Attribute {
  const { name, type, multiValued, mutability, caseExact, required, subAttributes = [] } = definition
  return {
    name: String(name),
    type: String(type),
    multiValued: multiValued === true,
    mutability: mutability === undefined ? 'readWrite' : String(mutability),
    caseExact: caseExact === true,
    required: required === true,
    subAttributes: subAttributes.map(toAttribute),
  }
}

/** The definition, except that a sender may also state a manager's name. */
function describedAttribute(definition: Definition): Definition {
  if (definition.name !== 'manager') return definition
  const subAttributes = (definition.subAttributes ?? []).map((sub) => ({ ...sub, mutability: 'readWrite' }))
  return { ...definition, subAttributes }
}
