import type { Selectable } from 'kysely'
import type { Company, company } from '../../contract/platform/company.ts'
import type { Handlers } from '../../http/server/mount.ts'
import type { PlatformContext } from '../core/context.ts'
import type { PlatformSchema } from '../core/schema.ts'

/** The handlers of the operations on the company. */
export const companyHandlers: Handlers<typeof company, PlatformContext> = {
  async getCompany(ctx) {
    const account = await ctx.db
      .selectFrom('accounts')
      .selectAll()
      .where('id', '=', ctx.accountId)
      .executeTakeFirstOrThrow()
    const known = await ctx.db
      .selectFrom('companies')
      .selectAll()
      .where('account_id', '=', ctx.accountId)
      .executeTakeFirst()
    return { status: 200, body: present(account, known, ctx.entitlements) }
  },
}

function present(
  account: Selectable<PlatformSchema['accounts']>,
  known: Selectable<PlatformSchema['companies']> | undefined,
  entitlements: ReadonlySet<string>,
): Company {
  return {
    accountId: account.uuid,
    domain: known?.domain ?? unknownDomain(account.name),
    name: account.name,
    legalName: known?.legal_name ?? null,
    description: known?.description ?? null,
    logoUrl: known?.logo_url ?? null,
    securityTraining: known?.security_training ?? null,
    hipaaTraining: known?.hipaa_training ?? null,
    backgroundCheck: known?.background_check ?? null,
    createdAt: account.created_at.toISOString(),
    updatedAt: (known?.updated_at ?? account.created_at).toISOString(),
    agentEnabled: known?.agent_enabled ?? false,
    manualUploadEnabled: known?.manual_upload_enabled ?? false,
    entitlements: [...entitlements].sort().map((name) => ({ name, type: name, featureId: null })),
    language: known?.language ?? 'ENGLISH_US',
  }
}

// A domain must be there; one below `.invalid` can never exist.
function unknownDomain(name: string): string {
  const label = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 63)
    .replaceAll(/^-+|-+$/g, '')
  return `${label || 'account'}.invalid`
}
