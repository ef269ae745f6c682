import type { NewAudit } from '../../../src/platform/audits/audit-input.ts'
import { SeedDocument } from '../../../src/platform/seed/document.ts'
import { bodyOf, type PlatformClient, type TestPlatform } from './platforms.ts'

export type AuditCompany = {
  readonly name: string
  readonly client: PlatformClient
  readonly workspaceId: number
  readonly otherWorkspaceId: number
  /** Ids of the audits of the first workspace by their framework. */
  readonly audits: Readonly<Record<string, string>>
  /** The ids of the users by the part of their address before the `@`. */
  readonly users: Readonly<Record<string, number>>
  /** The account's events about audits, oldest first. */
  readonly events: () => Promise<
    { type: string; description: string; source: string; request_description: string | null }[]
  >
}

type AuditInput = Omit<Partial<NewAudit>, 'requests'> & { readonly requests?: readonly object[] }

/** An account with two workspaces, three users and the audits given, which are in the first workspace. */
export async function newAuditCompany(
  opened: TestPlatform,
  name: string,
  audits: readonly AuditInput[] = [firstAudit, secondAudit],
): Promise<AuditCompany> {
  await opened.operator.seed({ body: auditSeed(name, audits) })
  const client = await opened.clientOf(name, 'all')
  const workspaces = bodyOf(await client.listWorkspaces({ query: {} }), 200).data
  const idOf = (workspaceName: string) => workspaces.find((workspace) => workspace.name === workspaceName)?.id ?? 0
  const workspaceId = idOf('Cloud')
  const listed = bodyOf(await client.listAudits({ params: { workspaceId } }), 200).data
  const { db } = opened.platform.database
  const account = await db.selectFrom('accounts').select('id').where('name', '=', name).executeTakeFirstOrThrow()
  const users = await db.selectFrom('users').select(['id', 'email']).where('account_id', '=', account.id).execute()
  return {
    name,
    client,
    workspaceId,
    otherWorkspaceId: idOf('Pay'),
    audits: Object.fromEntries(listed.map(({ frameworkType, id }) => [frameworkType, id])),
    users: Object.fromEntries(users.map(({ id, email }) => [email.split('@')[0] ?? '', id])),
    events: () =>
      db
        .selectFrom('events')
        .select(['type', 'description', 'source', 'request_description'])
        .where('account_id', '=', account.id)
        .where('category', '=', 'AUDIT')
        .orderBy('id')
        .execute(),
  }
}

export function auditSeed(name: string, audits: readonly AuditInput[] = [firstAudit, secondAudit]): SeedDocument {
  const control = { description: 'What is done.' }
  return SeedDocument.parse({
    library: { frameworks: [], tests: [], policies: [], evidence: [], risks: [], controls: [template] },
    accounts: [
      {
        name,
        entitlements: [],
        termsAcceptedAt: '2026-01-01T00:00:00Z',
        people: [
          { email: 'ana@a.example', firstName: 'Ana', lastName: 'Low' },
          { email: 'bo@a.example', firstName: 'Bo', lastName: 'Ek' },
          { email: 'cy@a.example', firstName: 'Cy', lastName: 'Moe' },
        ],
        workspaces: [
          {
            name: 'Cloud',
            controls: [
              { ...control, code: 'A-1', name: 'One' },
              { ...control, template: 'AUD-7', code: 'A-2', name: 'Two' },
            ],
            audits,
          },
          { name: 'Pay', controls: [{ ...control, code: 'P-1', name: 'Elsewhere' }] },
        ],
      },
    ],
  })
}

/** An audit in three requests of different owners and statuses. */
export const firstAudit: AuditInput = {
  framework: 'SOC_2_TYPE_2',
  status: 'ACTIVE',
  startDate: '2026-01-01',
  endDate: '2026-12-31',
  auditors: [
    { name: 'Zed Out', email: 'zed@auditors.example' },
    { name: 'Eve Out', email: 'eve@auditors.example' },
  ],
  internalAuditors: ['bo@a.example', 'ana@a.example'],
  controls: ['A-2', 'A-1'],
  requests: [
    {
      code: 'REQ-1',
      title: 'People who joined',
      description: 'A list.',
      status: 'ACCEPTED',
      owners: ['Ana@a.example', 'bo@a.example'],
      controls: ['A-2'],
      messages: [
        { message: 'Please include contractors.', by: 'eve@auditors.example' },
        { message: 'Done.', by: 'ana@a.example' },
        { message: 'Accepted.' },
      ],
    },
    { code: 'REQ-2', title: 'Reviews', status: 'IN_REVIEW', owners: ['bo@a.example'] },
    { code: 'REQ-3', title: 'Incidents' },
  ],
}

export const secondAudit: AuditInput = {
  framework: 'ISO_27001_2022',
  auditType: 'DOWNLOAD_ONLY_AUDIT',
  isInternalAudit: true,
  status: 'COMPLETED',
  startDate: '2025-07-01',
  endDate: '2026-06-30',
  completedAt: '2026-07-17T16:30:00+02:00',
}

const template = {
  code: 'AUD-7',
  number: 907,
  name: 'Template',
  description: 'What is done.',
  question: 'Is it done?',
  activity: 'Do it.',
  domain: 'GENERAL',
  category: 'DATA',
}
