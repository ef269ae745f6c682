import { type Selectable, sql } from 'kysely'
import type { CustomFieldDefinition, customFieldDefinitions } from '../../contract/platform/custom-field-definitions.ts'
import { Refusal } from '../../http/refusal.ts'
import type { Handlers } from '../../http/server/mount.ts'
import type { PlatformContext } from '../core/context.ts'
import { replyWithPage } from '../core/pages.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { isStorableText } from '../core/storable-json.ts'
import { optionsOf } from './custom-fields.ts'

type Row = Selectable<PlatformSchema['custom_field_definitions']>

const namePrefix = 'name:'

/** The handlers of the operations on the definitions of custom fields. */
export const customFieldDefinitionHandlers: Handlers<typeof customFieldDefinitions, PlatformContext> = {
  async listCustomFieldDefinitions(ctx, { query }) {
    const { entityType, isHidden } = query
    const ofType = entityType === undefined ? sql`` : sql` and ${entityType} = any(entity_types)`
    const ofVisibility = isHidden === undefined ? sql`` : sql` and is_hidden = ${isHidden}`
    return replyWithPage(ctx, {
      table: 'custom_field_definitions',
      where: sql`account_id = ${ctx.accountId}${ofType}${ofVisibility}`,
      filter: { entityType, isHidden },
      query,
      present: (rows) => present(ctx, rows),
    })
  },

  async getCustomFieldDefinition(ctx, { params: { customFieldId } }) {
    const fields = ctx.db.selectFrom('custom_field_definitions').selectAll().where('account_id', '=', ctx.accountId)
    const name = typeof customFieldId === 'number' ? '' : customFieldId.slice(namePrefix.length)
    const matching =
      typeof customFieldId === 'number' ? fields.where('id', '=', customFieldId) : fields.where('name', '=', name)
    // PostgreSQL refuses a text that it cannot store, and no field has such a name.
    const rows = isStorableText(name) ? await matching.limit(2).execute() : []
    if (rows.length > 1) throw new Refusal(422, 'Several custom fields have that name; use the id')
    const [definition] = await present(ctx, rows)
    if (!definition) throw new Refusal(404, 'There is no such custom field')
    return { status: 200, body: definition }
  },
}

async function present({ db }: PlatformContext, rows: readonly Row[]): Promise<CustomFieldDefinition[]> {
  const options = await optionsOf(
    db,
    rows.map(({ id }) => id),
  )
  return rows.map((row) => ({
    customFieldId: row.id,
    name: row.name,
    description: row.description,
    type: row.type,
    isRequired: row.is_required,
    isHidden: row.is_hidden,
    readOnly: row.type === 'FORMULA',
    entityTypes: row.entity_types,
    ...(row.currency_code !== null && { currencyCode: row.currency_code }),
    ...(options.has(row.id) && {
      options: options.get(row.id)?.map(({ id, value }) => ({ customFieldOptionId: id, value })),
    }),
  }))
}
