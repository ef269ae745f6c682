import { expect, test } from 'vitest'
import { loadConfig } from '../../../src/daemon/config/load-config.ts'
import { exportFolder } from '../../helpers/sources/exports.ts'

const config = `platform:
  apiKey: \${env:KEY}
connections:
  acme:
    target: { name: Acme HRIS }
    source:
      type: http
      url: https://hr.example/people
      bearer: \${env:BEARER}
      mode: snapshot
      format: csv
      fields:
        identityId: Worker ID
        firstName: First Name
    guards:
      leavers: { count: 5, share: 0.05 }
`

async function digestOf(text: string, env: Readonly<Record<string, string>> = {}): Promise<string | undefined> {
  await using folder = await exportFolder()
  await folder.write('rollcall.yaml', text)
  const { connections } = await loadConfig(`${folder.path}/rollcall.yaml`, { KEY: 'key', BEARER: 'b1', ...env })
  return connections.get('acme')?.digest
}

test.each([
  ['the mapping', 'First Name', 'Given Name'],
  ['a limit', 'count: 5', 'count: 500'],
  ['what absence means', 'mode: snapshot', 'mode: snapshot\n      absence: ignore'],
  ['where the source is', 'hr.example', 'hr.test'],
  ['the target', 'Acme HRIS', 'Acme HRIS 2'],
  ['what an approval needs', 'connections:', 'approvals: { twoPeople: true }\nconnections:'],
])('a configuration is another one where %s is another', async (_what, from, to) => {
  expect(await digestOf(config.replace(from, to))).not.toBe(await digestOf(config))
})

test.each([
  ['a secret', config, { BEARER: 'b2' }],
  ['how fast is sent', config.replace('    guards:', '    delivery: { batchSize: 7 }\n    guards:'), {}],
  ['when it is read', config.replace('    guards:', "    schedule: { cron: '0 2 * * *' }\n    guards:"), {}],
  [
    'the order of lines',
    config
      .replace('        firstName: First Name\n', '')
      .replace('identityId:', 'firstName: First Name\n        identityId:'),
    {},
  ],
])('a configuration stays the same where %s is another', async (_what, text, env) => {
  expect(await digestOf(text, env)).toBe(await digestOf(config))
})
