import { type Kysely, type Selectable, sql } from 'kysely'
import { z } from 'zod'
import {
  type CustomFieldSubmit,
  type CustomFieldValue,
  maxLongTextLength,
  maxShortTextLength,
  maxUrlLength,
} from '../../contract/platform/common.ts'
import type { CustomFieldEntity, CustomFieldType } from '../../contract/platform/custom-field-kinds.ts'
import { Refusal } from '../../http/refusal.ts'
import type { PlatformContext } from '../core/context.ts'
import { anyOf, groupRows } from '../core/rows.ts'
import type { PlatformSchema } from '../core/schema.ts'

type Definition = Selectable<PlatformSchema['custom_field_definitions']>
type Option = Selectable<PlatformSchema['custom_field_options']>
type Entity = { readonly entityType: CustomFieldEntity; readonly entityId: number }

type Submission = { readonly submitted?: readonly CustomFieldSubmit[]; readonly isNew: boolean }

/** What a request has of custom fields: its expansions, or the values that it gives. */
type FieldUse = {
  readonly expand?: readonly string[] | undefined
  readonly submitted?: readonly CustomFieldSubmit[] | undefined
}

/** A value to store for a field; null removes it. */
type CustomFieldChange = { readonly definitionId: number; readonly value: string | null }

const entitlement = 'CUSTOM_FIELDS_AND_FORMULAS'

const Decimal = z.string().regex(/^-?\d{1,30}(?:\.\d{1,30})?$/, { error: 'must be a decimal number' })
const ShortText = z.string().max(maxShortTextLength)

/** The schema of the values of each type; null for computed fields. */
const valueSchemas: Readonly<Record<CustomFieldType, z.ZodType<string> | null>> = {
  TEXT: ShortText,
  LONG_TEXT: z.string().max(maxLongTextLength),
  NUMBER: Decimal,
  CURRENCY: Decimal,
  OPTIONS: ShortText,
  OPTIONS_NUMERIC: Decimal,
  URL: z.url({ protocol: /^https?$/, error: 'must be an http or https address' }).max(maxUrlLength),
  FORMULA: null,
}

/** Refuses to give or show custom fields with 403 if the plan has none. Call it before anything is looked up. */
export function requireCustomFields(ctx: PlatformContext, { expand = [], submitted = [] }: FieldUse): void {
  if (expand.includes('customFields') || submitted.length > 0) requirePlan(ctx)
}

function requirePlan(ctx: PlatformContext): void {
  if (!ctx.entitlements.has(entitlement)) {
    throw new Refusal(403, `The plan of the account does not include ${entitlement}`)
  }
}

/** The values of these entities by entity id, for `expand[]=customFields`; entities without a value have no entry. */
export async function customFieldsOf(
  ctx: PlatformContext,
  entityType: CustomFieldEntity,
  entities: readonly { readonly id: number }[],
): Promise<ReadonlyMap<number, CustomFieldValue[]>> {
  requirePlan(ctx)
  if (entities.length === 0) return new Map()
  const rows = await ctx.db
    .selectFrom('custom_field_values as stored')
    .innerJoin('custom_field_definitions as definition', 'definition.id', 'stored.definition_id')
    .select(['stored.entity_id', 'stored.value', 'definition.id', 'definition.name'])
    .where('definition.account_id', '=', ctx.accountId)
    .where('stored.entity_type', '=', entityType)
    .where('stored.entity_id', '=', anyOf(entities.map(({ id }) => id)))
    .orderBy('definition.id')
    .execute()
  return groupRows(
    rows,
    (row) => row.entity_id,
    ({ id, name, value }) => ({ customFieldId: id, name, value }),
  )
}

/**
 * Finds the field of each submitted value and checks the value. A new entity needs every required field; an existing one must
 * not lose one. Refuses an unknown, ambiguous or repeated field and a value of the wrong type with 422, or with 400 if the operation
 * lists no 422. Refuses a plan without custom fields with 403.
 */
export async function checkCustomFields(
  db: Kysely<PlatformSchema>,
  ctx: PlatformContext,
  entityType: CustomFieldEntity,
  { submitted = [], isNew }: Submission,
): Promise<CustomFieldChange[]> {
  requireCustomFields(ctx, { submitted })
  if (submitted.length === 0 && !(isNew && ctx.entitlements.has(entitlement))) return []
  const definitions = await definitionsFor(db, ctx.accountId, entityType)
  const matches = submitted.map((field) => ({ field, definition: findDefinition(ctx, definitions, field) }))
  const options = await optionsOf(
    db,
    matches.map(({ definition }) => definition.id),
  )
  const submittedIds = new Set<number>()
  for (const { field, definition } of matches) {
    if (submittedIds.has(definition.id)) throw refuseField(ctx, definition, 'is given twice')
    submittedIds.add(definition.id)
    checkValue(ctx, definition, field.value)
    checkOption(ctx, definition, { value: field.value, options: options.get(definition.id) })
  }
  const missing = definitions.find((definition) => isNew && isRequired(definition) && !submittedIds.has(definition.id))
  if (missing) throw refuseField(ctx, missing, 'is required')
  return matches.map(({ field, definition }) => ({ definitionId: definition.id, value: field.value }))
}

/** The field that a search names, in any case. Refuses an unknown or ambiguous one with 400, and a plan without custom fields with 403. */
export async function findCustomField(
  ctx: PlatformContext,
  entityType: CustomFieldEntity,
  { customFieldId: id, name }: { readonly customFieldId?: number; readonly name?: string },
): Promise<Definition> {
  requirePlan(ctx)
  const definitions = await definitionsFor(ctx.db, ctx.accountId, entityType)
  const matches = definitions.filter(
    (candidate) =>
      (id ?? candidate.id) === candidate.id && (name ?? candidate.name).toLowerCase() === candidate.name.toLowerCase(),
  )
  return onlyMatch(ctx, matches, id)
}

/** Stores checked values; returns whether any value changed. The caller's transaction has locked the entity's row. */
export async function storeCustomFields(
  trx: Kysely<PlatformSchema>,
  { entityType, entityId }: Entity,
  changes: readonly CustomFieldChange[],
): Promise<boolean> {
  const values = changes.flatMap(({ definitionId, value }) =>
    value === null ? [] : [{ definition_id: definitionId, entity_type: entityType, entity_id: entityId, value }],
  )
  const removed = changes.flatMap(({ definitionId, value }) => (value === null ? [definitionId] : []))
  const written =
    values.length > 0
      ? await trx
          .insertInto('custom_field_values')
          .values(values)
          .onConflict((conflict) =>
            conflict
              .columns(['definition_id', 'entity_type', 'entity_id'])
              .doUpdateSet({ value: sql`excluded.value` })
              .where(sql<boolean>`custom_field_values.value <> excluded.value`),
          )
          .returning('definition_id')
          .execute()
      : []
  const { numDeletedRows } = await trx
    .deleteFrom('custom_field_values')
    .where('entity_type', '=', entityType)
    .where('entity_id', '=', entityId)
    .where('definition_id', '=', anyOf(removed))
    .executeTakeFirstOrThrow()
  return written.length > 0 || numDeletedRows > 0n
}

/** The options of these fields, in the order of the definition; a field without any has no entry. */
export async function optionsOf(
  db: Kysely<PlatformSchema>,
  definitionIds: readonly number[],
): Promise<ReadonlyMap<number, readonly Option[]>> {
  const rows = await db
    .selectFrom('custom_field_options')
    .selectAll()
    .where('definition_id', '=', anyOf(definitionIds))
    .orderBy('id')
    .execute()
  return Map.groupBy(rows, (row) => row.definition_id)
}

async function definitionsFor(
  db: Kysely<PlatformSchema>,
  accountId: number,
  entityType: CustomFieldEntity,
): Promise<Definition[]> {
  return db
    .selectFrom('custom_field_definitions')
    .selectAll()
    .where('account_id', '=', accountId)
    .where(sql<boolean>`${entityType} = any(entity_types)`)
    .orderBy('id')
    .execute()
}

function findDefinition(
  ctx: PlatformContext,
  definitions: readonly Definition[],
  { id, name }: CustomFieldSubmit,
): Definition {
  const matches = definitions.filter(
    (candidate) => (id ?? candidate.id) === candidate.id && (name ?? candidate.name) === candidate.name,
  )
  return onlyMatch(ctx, matches, id)
}

function onlyMatch(
  ctx: PlatformContext,
  [definition, second]: readonly Definition[],
  id: number | undefined,
): Definition {
  const label = id === undefined ? 'that name' : `the id ${id}`
  if (!definition) throw refuseFields(ctx, `There is no custom field of ${label} here`)
  if (second) throw refuseFields(ctx, `Several custom fields have ${label}; say which one by its id`)
  return definition
}

function checkValue(ctx: PlatformContext, definition: Definition, value: string | null): void {
  const schema = valueSchemas[definition.type]
  if (schema === null) throw refuseField(ctx, definition, 'is computed and cannot be written')
  if (isRequired(definition) && !value) throw refuseField(ctx, definition, 'is required and cannot be emptied')
  const parsed = value === null ? null : schema.safeParse(value)
  if (parsed?.error) throw refuseField(ctx, definition, parsed.error.issues[0]?.message ?? 'is not valid')
}

type Choice = { readonly value: string | null; readonly options: readonly Option[] | undefined }

function checkOption(ctx: PlatformContext, definition: Definition, { value, options }: Choice): void {
  if (value === null || !options || options.some((option) => option.value === value)) return
  throw refuseField(ctx, definition, 'must be one of the options of the field')
}

// A formula computes itself, so it cannot be required.
function isRequired({ is_required, type }: Definition): boolean {
  return is_required && type !== 'FORMULA'
}

function refuseField(ctx: PlatformContext, { id, type }: Definition, problem: string): Refusal {
  return refuseFields(ctx, `The custom field ${id} (${type}): ${problem}`)
}

function refuseFields(ctx: PlatformContext, message: string): Refusal {
  return new Refusal(ctx.operation.errors.includes(422) ? 422 : 400, message)
}
