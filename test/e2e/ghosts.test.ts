import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { liveRecords, workspaceOf } from '../helpers/custom-records.ts'
import { freePort } from '../helpers/servers/free-port.ts'
import { openWorkplace } from '../helpers/workplace.ts'
import { type Host, startHost } from '../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

type Finding = { readonly cause: string; readonly person: string; readonly name?: string; readonly evidence: string }

const employees = `Employee ID,First Name,Last Name,Email,Start Date,Termination Date
1,Ana,Okoro,ana@acme.example,2020-01-06,
2,Ben,Ito,ben@acme.example,2020-02-03,2026-01-31
3,Cy,Lund,cy@acme.example,2020-03-02,
`
const accounts = `User Id,Login,First name,Last name,Status,Employee number
00u1,ana@acme.example,Ana,Okoro,ACTIVE,1
00u2,ben@acme.example,Ben,Ito,ACTIVE,
00u3,temp@elsewhere.example,Cy,Lund,ACTIVE,
`

/** The connection of config/examples/ghosts.yaml that delivers the findings, at the address of a daemon. */
async function ghostsConnection(url: string, workspace: number): Promise<string> {
  const file = new URL('../../config/examples/ghosts.yaml', import.meta.url)
  const { 'okta-ghosts': ghosts } = parse(await readFile(file, 'utf8')).connections
  const source = { ...ghosts.source, url: `${url}/api/v1/effective?connection=okta`, bearer: '${file:token}' }
  const target = { ...ghosts.target, workspaces: [workspace] }
  return JSON.stringify({ ...ghosts, target, source, schedule: undefined })
}

test('ghosts of a directory are listed, and delivered as records of a connection', async () => {
  const { name: account, key, client } = await host.tenant()
  const workspace = await workspaceOf(host, account)
  const where = { baseUrl: host.platform.baseUrl, key }
  await using work = await openWorkplace(where, { hasStore: true })
  const directory = `  okta:
    target: { type: DIRECTORY }
    source:
      type: csv
      path: accounts.csv
      mode: snapshot
      complete: { quietSeconds: 0 }
      fields: { identityId: User Id }
      record:
        login: Login
        firstName: First name
        lastName: Last name
        employeeNumber: Employee number
        enabled: { column: Status, map: { ACTIVE: true, DEPROVISIONED: false } }
`
  await work.configure({ connection: `    verify: never\n${directory}` })
  await work.drop('people.csv', employees)
  await writeFile(join(work.folder, 'accounts.csv'), accounts)
  const checked = await work.json<{ readonly checks: readonly { readonly name: string; readonly level: string }[] }>(
    'check',
  )
  await work.run('sync')

  const byFile = await work.json<{ readonly findings: readonly Finding[] }>(
    'effective',
    '--directory',
    join(work.folder, 'accounts.csv'),
  )
  const compared = await work.json<{ readonly findings: readonly Finding[] }>(
    'effective',
    '--directory',
    'okta',
    '--compare',
    '--show-values',
  )
  const unknown = await work.run('effective', '--directory', 'nothing.csv')

  const seeded = [
    'account_of_leaver 2',
    expect.stringMatching(/^account_unknown account [0-9a-f]{16}$/),
    'account_missing 3',
  ]
  const named = (findings: readonly Finding[]) => findings.map(({ cause, person }) => `${cause} ${person}`)
  expect(checked.document.checks.find(({ name }) => name === 'source of okta')).toMatchObject({ level: 'ok' })
  expect(named(byFile.document.findings)).toEqual(seeded)
  expect(JSON.stringify(byFile.document)).not.toMatch(/Ben|temp@/)
  expect(named(compared.document.findings)).toEqual(expect.arrayContaining(seeded))
  expect(compared.document.findings.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['Ben Ito', 'temp@elsewhere.example']),
  )
  expect(unknown).toMatchObject({ exit: 2, stderr: expect.stringContaining('there is no file nothing.csv') })

  const { document: token } = await work.json<{ readonly token: string }>(
    ...['token', 'create', '--name', 'records', '--role', 'viewer'],
  )
  await writeFile(join(work.folder, 'token'), token.token)
  const port = await freePort()
  const ghosts = await ghostsConnection(`http://127.0.0.1:${port}`, workspace)
  await work.configure({ connection: `    verify: never\n${directory}  okta-ghosts: ${ghosts}\n` })
  await writeFile(work.configFile, (await readFile(work.configFile, 'utf8')).replace('port: 0', `port: ${port}`))
  const daemon = work.start('serve')
  await daemon.waitForOutput('daemon.started')
  const sent = await work.run('sync', '--connection', 'okta-ghosts')

  expect(sent).toMatchObject({ exit: 0 })
  const records = [...(await liveRecords(client)).values()] as readonly Finding[]
  expect(named(records)).toEqual(expect.arrayContaining(seeded))
  expect(JSON.stringify(records)).not.toMatch(/Ben|temp@/)

  // More findings than the usual limits let join.
  const more = Array.from({ length: 30 }, (_, index) => `00x${index},x${index}@elsewhere.example,,,ACTIVE,\n`)
  await writeFile(join(work.folder, 'accounts.csv'), [accounts, ...more].join(''))
  await work.json('effective', '--directory', 'okta', '--compare')
  expect(await work.run('sync', '--connection', 'okta-ghosts')).toMatchObject({ exit: 0 })
  expect((await liveRecords(client)).size).toBe(33)
})
