import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { loadsOf } from '../../../helpers/loads.ts'
import { temporaryFolder } from '../../../helpers/sources/folders.ts'
import { json, startHrServer } from '../../../helpers/sources/hr-server.ts'
import { rsaKeys } from '../../../helpers/sources/signing-keys.ts'
import { clientCredentials, peopleOf, startTokenSystem } from '../../../helpers/sources/token-system.ts'

const script = fileURLToPath(new URL('../../../helpers/sources/read-people.ts', import.meta.url))
const tokenLibraries = ['jose', 'openid-client', 'xml-crypto']
const { pem } = rsaKeys()
const parties = { clientId: 'client-1', privateKey: 'set', issuer: 'a', subject: 'b', audience: 'c' }

/** The files of authorization and the libraries that reading a source loads. */
async function loadsFor(settings: object, secrets: Readonly<Record<string, string>>) {
  await using folder = await temporaryFolder()
  const { files, libraries } = await loadsOf([JSON.stringify(settings), JSON.stringify(secrets), folder.path], script)
  return {
    libraries: libraries.filter((name) => tokenLibraries.includes(name)),
    hasLogin: files.includes('src/connectors/http/authorization/login.ts'),
    hasTokenFile: files.includes('src/connectors/http/authorization/token-file.ts'),
    isOpened: files.includes('src/connectors/http/open.ts'),
  }
}

test('a list with a static credential loads nothing that obtains tokens', async () => {
  await using server = await startHrServer(json([{ id: 1 }]))

  const loads = await loadsFor({ url: server.url, bearer: 'set' }, { bearer: 'key' })

  expect(loads).toEqual({ libraries: [], hasLogin: false, hasTokenFile: false, isOpened: true })
  expect(server.requests).toHaveLength(1)
})

test.each([
  ['clientCredentials', {}, ['openid-client']],
  ['jwtBearer', parties, ['jose', 'openid-client']],
  ['samlBearer', parties, ['openid-client', 'xml-crypto']],
])('the grant %s loads what it needs', async (grant, further, libraries) => {
  await using system = await startTokenSystem()
  const settings = { ...peopleOf(system), oauth2: { ...clientCredentials(system), ...further, grant } }

  const loads = await loadsFor(settings, { 'oauth2.clientSecret': 'hidden', 'oauth2.privateKey': pem })

  expect(loads).toEqual({ libraries, hasLogin: false, hasTokenFile: false, isOpened: true })
  expect(system.listRequests).toHaveLength(1)
})
