import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { ControlLibraryItem, controlLibrary } from '../../contract/platform/control-library.ts'
import { Refusal } from '../../http/refusal.ts'
import type { Handlers } from '../../http/server/mount.ts'
import type { PlatformContext } from '../core/context.ts'
import { replyWithPage } from '../core/pages.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { beginsWith } from '../core/text-filters.ts'
import { expandTemplate } from './template-expansions.ts'

type Row = Selectable<PlatformSchema['control_templates']>

type LibraryFilters = {
  readonly search?: string
  readonly 'codes[]'?: readonly string[] | undefined
  readonly 'ids[]'?: readonly number[] | undefined
  readonly 'excludeIds[]'?: readonly number[] | undefined
  readonly domain?: string
  readonly category?: string
  readonly frameworkTag?: string
  readonly hasTests?: boolean
  readonly hasPolicies?: boolean
  readonly hasEvidence?: boolean
  readonly hasRisks?: boolean
}

/** The mapping table of each filter. */
const mappings = {
  hasTests: 'template_tests',
  hasPolicies: 'template_policies',
  hasEvidence: 'template_evidence',
  hasRisks: 'template_risks',
} as const

/** The handlers of the operations on the control library. */
export const controlLibraryHandlers: Handlers<typeof controlLibrary, PlatformContext> = {
  async listControlLibrary(ctx, { query }) {
    const { cursor, size, sort, sortDir, includeTotalCount, ...filters } = query
    return replyWithPage(ctx, {
      table: 'control_templates',
      where: filterConditions(filters),
      filter: filters,
      query: { cursor, size, sort, sortDir, includeTotalCount },
      present: (rows) => present(ctx, rows),
    })
  },

  async getControlLibraryItem(ctx, { params, query }) {
    const row = await ctx.db
      .selectFrom('control_templates')
      .selectAll()
      .where('id', '=', params.templateId)
      .executeTakeFirst()
    const [item] = row ? await present(ctx, [row]) : []
    if (!item) throw new Refusal(404, `There is no control template ${params.templateId}`)
    const extras = await expandTemplate(ctx, params.templateId, new Set(query['expand[]']))
    return { status: 200, body: { ...item, ...extras } }
  },
}

function filterConditions(filters: LibraryFilters): RawBuilder<unknown> {
  const { search, 'codes[]': codes, 'ids[]': ids, 'excludeIds[]': excluded, domain, category, frameworkTag } = filters
  const conditions: RawBuilder<unknown>[] = [sql`true`]
  if (search !== undefined) conditions.push(sql`(${beginsWith('name', search)} or ${beginsWith('code', search)})`)
  if (codes) conditions.push(sql`code = any(${codes}::text[])`)
  if (ids) conditions.push(sql`id = any(${ids}::bigint[])`)
  if (excluded) conditions.push(sql`id <> all(${excluded}::bigint[])`)
  if (domain !== undefined) conditions.push(sql`domain = ${domain}`)
  if (category !== undefined) conditions.push(sql`category = ${category}`)
  if (frameworkTag !== undefined) conditions.push(servesFramework(frameworkTag))
  for (const name of ['hasTests', 'hasPolicies', 'hasEvidence', 'hasRisks'] as const) {
    if (filters[name]) conditions.push(isMapped(mappings[name]))
  }
  return sql.join(conditions, sql` and `)
}

function servesFramework(tag: string): RawBuilder<unknown> {
  return sql`exists (
    select from template_requirements as mapped
    join requirements on requirements.id = mapped.requirement_id
    join frameworks on frameworks.id = requirements.framework_id
    where mapped.control_template_id = control_templates.id and frameworks.tag = ${tag}
  )`
}

function isMapped(table: (typeof mappings)[keyof typeof mappings]): RawBuilder<unknown> {
  return sql`exists (select from ${sql.table(table)} as mapped where mapped.control_template_id = control_templates.id)`
}

async function present(ctx: PlatformContext, rows: readonly Row[]): Promise<ControlLibraryItem[]> {
  const used = await usedTemplates(
    ctx,
    rows.map(({ id }) => id),
  )
  return rows.map((row) => ({
    id: row.id,
    code: row.code,
    controlNumber: row.control_number,
    name: row.name,
    description: row.description,
    question: row.question,
    activity: row.activity,
    domain: row.domain,
    category: row.category,
    inUse: used.has(row.id),
  }))
}

async function usedTemplates(ctx: PlatformContext, ids: readonly number[]): Promise<ReadonlySet<number>> {
  const { rows } = await sql<{ id: number }>`
    select template.id from unnest(${ids}::bigint[]) as template (id)
    where exists (select from controls where account_id = ${ctx.accountId} and template_id = template.id)
  `.execute(ctx.db)
  return new Set(rows.map(({ id }) => id))
}
