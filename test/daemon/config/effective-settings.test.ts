import { expect, test } from 'vitest'
import { loadConfig } from '../../../src/daemon/config/load-config.ts'
import { exportFolder } from '../../helpers/sources/exports.ts'

const text = `platform:
  apiKey: \${file:key}
  baseUrl: \${env:PLATFORM:-https://fallback.example/v2}
  timeoutMs: \${env:TIMEOUT}
database: \${env:DATABASE}
connections:
  acme:
    target: { name: Acme HRIS }
    source:
      type: http
      url: https://hr.example/people
      format: csv
      mode: snapshot
      preset: bamboohr
      basic: { username: '\${env:HR_USER}', password: '\${env:HR_PASSWORD}' }
      fields:
        jobTitle: Position
    pinned: [E1, E2]
  logins:
    target: { name: Logins }
    source:
      type: http
      url: https://hr.example/people
      format: json
      mode: snapshot
      preset: generic
      headers: { X-Account-Token: '\${env:HR_PASSWORD}', X-Company: acme }
      body: { filter: { key: '\${env:HR_PASSWORD}' } }
      method: POST
      login:
        url: https://hr.example/login
        token: /token
        body: { user: rollcall, deep: { list: ['\${env:HR_PASSWORD}'] } }
  tokens:
    target: { name: Tokens }
    source:
      type: http
      url: https://hr.example/people
      format: json
      mode: snapshot
      preset: generic
      oauth2:
        grant: samlBearer
        tokenUrl: https://hr.example/token
        clientId: \${env:HR_USER}
        clientSecret: \${env:HR_PASSWORD}
        privateKey: \${env:HR_PASSWORD}
        subject: \${env:HR_USER}
        issuer: \${env:HR_USER}
        audience: hr
        parameters: { company_id: '\${env:HR_PASSWORD}' }
        attributes: { use_username: '\${env:HR_PASSWORD}' }
`

const env = {
  PLATFORM: 'https://platform.example/v2?key=abc',
  TIMEOUT: '2000',
  DATABASE: 'postgres://rollcall:hunter2@db/rollcall',
  HR_USER: 'hunter2',
  HR_PASSWORD: 'hunter2',
}

async function effectiveSettings() {
  await using folder = await exportFolder()
  await folder.write('key', 'hunter2')
  await folder.write('rollcall.yaml', text)
  const { settings } = await loadConfig(`${folder.path}/rollcall.yaml`, env)
  return { settings, at: (path: string) => settings.find((one) => one.path === path) }
}

test('each setting in effect says where it comes from: line, variable, file, preset, or default', async () => {
  const { at } = await effectiveSettings()

  const file = [{ kind: 'file', name: expect.stringMatching(/rollcall\.yaml$/) }]
  expect(at('platform.timeoutMs')).toEqual({
    path: 'platform.timeoutMs',
    connection: null,
    value: '2000',
    line: 4,
    from: [{ kind: 'environment', name: 'TIMEOUT' }],
  })
  expect(at('platform.apiKey')).toMatchObject({ value: null, line: 2, from: [{ kind: 'secret_file', name: 'key' }] })
  expect(at('platform.inFlight')).toMatchObject({ value: '4', line: null, from: [{ kind: 'default', name: null }] })
  const source = 'connections.acme.source'
  expect(at(`${source}.fields.jobTitle.column`)).toMatchObject({ value: 'Position', line: 17, from: file })
  expect(at(`${source}.fields.identityId.column`)).toMatchObject({
    connection: 'acme',
    line: null,
    from: [{ kind: 'preset', name: 'bamboohr' }],
  })
  expect(at(`${source}.graceRuns`)).toMatchObject({ from: [{ kind: 'default', name: null }] })
  expect(at('connections.acme.pinned')).toMatchObject({ value: 'E1, E2', line: 18, from: file })
})

test('no secret stands among the settings, wherever it was written', async () => {
  const { settings: all, at } = await effectiveSettings()

  expect(JSON.stringify(all)).not.toMatch(/hunter2|key=abc|fallback/)
  expect(at('platform.baseUrl')?.value).toBe(`\${env:PLATFORM}`)
  expect(at('database')).toMatchObject({ value: null, from: [{ kind: 'environment', name: 'DATABASE' }] })
  for (const path of [
    ...['logins.source.headers.X-Account-Token', 'logins.source.body.filter.key', 'logins.source.login.body.deep.list'],
    ...['clientId', 'clientSecret', 'privateKey', 'subject', 'issuer'].map((name) => `tokens.source.oauth2.${name}`),
    ...['tokens.source.oauth2.parameters.company_id', 'tokens.source.oauth2.attributes.use_username'],
  ])
    expect(at(`connections.${path}`)).toMatchObject({ value: null })
})
