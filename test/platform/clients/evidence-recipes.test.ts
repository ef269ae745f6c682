import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databases } from '../../helpers/servers/databases.ts'
import { newDemandingCompany } from '../helpers/demanding-companies.ts'
import { png } from '../helpers/pictures.ts'
import { openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'
import { type Api, call } from './incremental-source.ts'

type Recipe = {
  readonly name: string
  readonly about: 'user' | 'device'
  readonly type: string
  readonly check: string
}

/** The eight recipes of evidence: what each uploads, about whom, and which check it is for. */
const recipes: readonly Recipe[] = [
  { name: 'antivirus', about: 'device', type: 'ANTIVIRUS_EVIDENCE', check: 'ANTIVIRUS' },
  { name: 'automatic updates', about: 'device', type: 'AUTO_UPDATES_EVIDENCE', check: 'AUTO_UPDATES' },
  { name: 'disk encryption', about: 'device', type: 'HARD_DRIVE_ENCRYPTION_EVIDENCE', check: 'HDD_ENCRYPTION' },
  { name: 'lock screen', about: 'device', type: 'LOCK_SCREEN_EVIDENCE', check: 'LOCK_SCREEN' },
  { name: 'password manager', about: 'device', type: 'PASSWORD_MANAGER_EVIDENCE', check: 'PASSWORD_MANAGER' },
  { name: 'security training', about: 'user', type: 'SEC_TRAINING', check: 'SECURITY_TRAINING' },
  { name: 'HIPAA training', about: 'user', type: 'HIPAA_TRAINING_EVIDENCE', check: 'HIPAA_TRAINING' },
  { name: 'MFA', about: 'user', type: 'MFA_EVIDENCE', check: 'IDENTITY_MFA' },
]

type Person = {
  readonly id: number
  readonly userId: number
  readonly complianceChecks: readonly { readonly type: string; readonly status: string }[]
}

/** Uploads the evidence of one recipe as a form: finds the person by address, and for a device the devices of the person. */
async function follow(api: Api, { about, type }: Recipe, email: string): Promise<void> {
  const { id, userId } = (await call(api, `/personnel/email:${email}`)) as Person
  const targets = [`/users/${userId}`]
  if (about === 'device') {
    const { data } = (await call(api, `/personnel/${id}/devices?size=50`)) as { data: readonly { id: number }[] }
    targets.splice(0, 1, ...data.map((device) => `/devices/${device.id}`))
  }
  for (const target of targets) {
    const body = new FormData()
    body.set('type', type)
    body.set('file', new File([png], `${type.toLowerCase()}.png`, { type: 'image/png' }))
    if (about === 'user') body.set('completionDate', '2026-02-27T12:00:00.000Z')
    await call(api, `${target}/documents`, { method: 'POST', body })
  }
}

describe.each(databases)('the recipes of evidence on $name', ({ createDatabase }) => {
  let opened: TestPlatform

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  test('each makes its own check pass, and all eight make the person compliant', async () => {
    const { name, ana, report } = await newDemandingCompany(opened)
    await report(ana.id)
    await report(ana.id, { serialNumber: 'her second laptop' })
    const { key } = await opened.operator.createKey({ body: { account: name, name: 'recipes', permissions: 'all' } })
    const api = { baseUrl: opened.platform.baseUrl, key }
    const email = 'ana@acme.example'
    const checks = async () => {
      const { complianceChecks } = (await call(api, `/personnel/email:${email}?expand[]=complianceChecks`)) as Person
      return new Map(complianceChecks.map(({ type, status }) => [type, status]))
    }
    await call(api, '/background-checks', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ userId: ana.userId, filedAt: '2026-02-01', url: 'https://checks.example/1' }),
    })
    const passed: number[] = []

    for (const recipe of recipes) {
      expect([recipe.name, (await checks()).get(recipe.check)]).toEqual([recipe.name, 'FAIL'])
      expect((await checks()).get('FULL_COMPLIANCE')).toBe('FAIL')
      await follow(api, recipe, email)
      const after = await checks()
      passed.push(recipes.filter(({ check }) => after.get(check) === 'PASS').length)
    }

    expect(passed).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
    expect((await checks()).get('FULL_COMPLIANCE')).toBe('PASS')
    const compliant = await call(api, '/personnel?complianceStatus[]=PASS')
    expect(compliant).toMatchObject({ data: [{ id: ana.id }] })
  })
})
