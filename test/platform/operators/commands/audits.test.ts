import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { databaseOperator } from '../../../../src/platform/operators/operator.ts'
import { startService } from '../../../../src/platform/serve.ts'
import type { Platform } from '../../../../src/platform/start.ts'
import { call } from '../../../helpers/called.ts'
import { platformFolder } from '../../../helpers/servers/provided.ts'
import { auditSeed } from '../../helpers/audit-company.ts'

const Made = z.object({ id: z.union([z.string(), z.number()]), status: z.string() })

let folder: string
let service: Platform

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rollcall-audits-'))
  const database = join(folder, 'data')
  await cp(await platformFolder(), database, { recursive: true })
  service = await startService({ database, host: '127.0.0.1', port: 0, sync: null })
  await databaseOperator(service.database.db).seed({ body: auditSeed('Acme', []) })
})
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

// The running service locks the folder, so each command uses its operator interface.
async function run(...args: string[]) {
  const env = { PATH: process.env.PATH, PLATFORM_DATABASE_URL: join(folder, 'data') }
  return await call(['platform', ...args], { env })
}

test('an audit is opened with options or from a file, and moved', async () => {
  const file = join(folder, 'audit.yaml')
  await writeFile(file, 'framework: GDPR\nstartDate: 2026-01-01\nendDate: 2026-06-30\ncontrols: [A-1]\n')
  const where = ['--account', 'Acme', '--workspace', 'Cloud', '--json']
  const period = ['--framework', 'HIPAA', '--start', '2026-01-01', '--end', '2026-12-31']
  const people = ['--auditor', 'Eve Out <eve@auditors.example>', '--internal-auditor', 'ana@a.example']

  const [byOptions, byFile] = await Promise.all([
    run('audits', 'create', ...where, ...period, ...people, '--control', 'A-1', 'A-2', '--internal'),
    run('audits', 'create', ...where, '--file', file, '--status', 'ACTIVE'),
  ])
  const { id } = Made.parse(JSON.parse(byOptions.stdout))
  const moved = await run('audits', 'set-status', `${id}`, 'COMPLETED', '--completed-at', '2026-03-01T00:00:00Z')

  expect([byOptions.exit, byFile.exit, moved.exit]).toEqual([0, 0, 0])
  expect(moved.stdout).toBe(`audit ${id}: COMPLETED\n`)
  const { db } = service.database
  const rows = await db.selectFrom('audits').selectAll().orderBy('framework_type').execute()
  expect(rows).toMatchObject([
    { framework_type: 'GDPR', status: 'ACTIVE', is_internal: false, end_date: '2026-06-30' },
    { framework_type: 'HIPAA', status: 'COMPLETED', is_internal: true, completed_at: new Date('2026-03-01') },
  ])
  expect(await db.selectFrom('auditors').select(['name', 'email']).execute()).toEqual([
    { name: 'Eve Out', email: 'eve@auditors.example' },
  ])
  expect(await db.selectFrom('audit_controls').selectAll().execute()).toHaveLength(3)
})

test('a request is added, moved and talked about', async () => {
  const { db } = service.database
  const operator = databaseOperator(db)
  const [account] = auditSeed('Acme', [{ framework: 'PCI4', startDate: '2026-01-01', endDate: '2026-12-31' }]).accounts
  const [audit] = account?.workspaces[0]?.audits ?? []
  if (!audit) throw new Error('the seed holds no audit')
  const { id } = await operator.createAudit({ body: { account: 'Acme', workspace: 'Cloud', audit } })

  const added = await run('requests', 'create', '--audit', id, '--code', 'R-1', '--title', 'Show us', '--json')
  const request = Made.parse(JSON.parse(added.stdout))
  const [moved, message] = await Promise.all([
    run('requests', 'set-status', `${request.id}`, 'ACCEPTED'),
    run('requests', 'message', `${request.id}`, 'Thank you.', '--by', 'ana@a.example'),
  ])

  expect([moved.stdout, message.exit]).toEqual([`request ${request.id}: ACCEPTED\n`, 0])
  expect(await db.selectFrom('audit_requests').select(['code', 'title', 'status']).execute()).toEqual([
    { code: 'R-1', title: 'Show us', status: 'ACCEPTED' },
  ])
  expect(await db.selectFrom('audit_request_messages').select(['message', 'sent_by_email']).execute()).toEqual([
    { message: 'Thank you.', sent_by_email: 'ana@a.example' },
  ])
})

test('a failing command prints one line and exits with the code of its failure', async () => {
  const where = ['--account', 'Acme', '--workspace', 'Cloud']
  const period = ['--framework', 'NIS2', '--start', '2026-12-31', '--end', '2026-01-01']
  const nowhere = '00000000-0000-4000-8000-000000000000'

  const [backwards, noFile, noAudit, noStatus, noId] = await Promise.all([
    run('audits', 'create', ...where, ...period),
    run('audits', 'create', ...where, '--file', join(folder, 'none.yaml')),
    run('requests', 'create', '--audit', nowhere, '--code', 'R', '--title', 'T'),
    run('audits', 'set-status', nowhere, 'DONE'),
    run('audits', 'set-status', '7', 'ACTIVE'),
  ])

  const failures = [backwards, noFile, noAudit, noStatus, noId]
  expect(failures.map(({ exit }) => exit)).toEqual([2, 66, 66, 2, 2])
  for (const { stderr } of failures) expect(stderr).toMatch(/^✖ [^\n]+\n$/)
  expect(backwards.stderr).toContain('endDate')
})
