import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { configOfText } from '../../src/daemon/config/load-config.ts'
import { readRecipes } from '../../src/daemon/config/presets.ts'
import { toDirectory } from '../../src/daemon/sync-connection.ts'
import type { Account } from '../../src/identity/effective/accounts.ts'
import { readAccounts } from '../../src/sync/sync.ts'
import { credentials } from '../helpers/hr-systems/credentials.ts'
import { hasLeft } from '../helpers/hr-systems/csv.ts'
import { type Fault, isNoticeable } from '../helpers/hr-systems/faults.ts'
import { inventRoster, type Person } from '../helpers/hr-systems/roster.ts'
import { type RunningSystem, type SystemOptions, startSystem } from '../helpers/hr-systems/server.ts'
import type { HrSystem } from '../helpers/hr-systems/system.ts'
import {
  administrator,
  directorySystems,
  numberOf,
  oktaHost,
  tenant,
} from '../helpers/hr-systems/systems/directories.ts'
import { temporaryFolder } from '../helpers/sources/folders.ts'
import { isFull } from '../helpers/tier.ts'
import { noon } from './opened-system.ts'

const { clientId, clientSecret } = credentials
const signal = new AbortController().signal
const pageSize = 20

/** What an administrator gives for a recipe, and which addresses of an account the list has. */
type Given = {
  readonly parameters: Readonly<Record<string, string>>
  readonly oauth2: (server: RunningSystem) => Readonly<Record<string, string>>
  readonly loginOf: (person: Person) => string
  readonly emailsOf: (person: Person) => readonly string[]
}

const given: Readonly<Record<string, Given>> = {
  'entra-users': {
    parameters: { tenant },
    oauth2: ({ origin }) => ({ clientId, clientSecret, tokenUrl: `${origin}/${tenant}/oauth2/v2.0/token` }),
    loginOf: ({ index }) => `u${index}@acme.onmicrosoft.example`,
    emailsOf: ({ email }) => [email, `alias.${email}`],
  },
  'okta-users': {
    parameters: { host: oktaHost },
    oauth2: ({ origin, keys }) => ({
      clientId,
      privateKey: keys?.privateKey ?? '',
      tokenUrl: `${origin}/oauth2/v1/token`,
    }),
    loginOf: ({ email }) => email,
    emailsOf: ({ index, email }) => [`${index}@acme.example`, `alias.${email}`],
  },
  'google-users': {
    parameters: {},
    oauth2: ({ origin, keys }) => ({
      ...{ clientId, subject: administrator, privateKey: keys?.privateKey ?? '' },
      tokenUrl: `${origin}/token`,
    }),
    loginOf: ({ email }) => email,
    emailsOf: ({ email }) => [`alias.${email}`],
  },
}

type ReadOptions = SystemOptions & {
  readonly replaced?: Readonly<Record<string, string>>
  /** A member that no record has. */
  readonly lost?: string
}

/** A system whose records lack a member. */
function withoutMember(system: HrSystem, member: string): HrSystem {
  const [list] = system.lists
  const shape: typeof list.shape = (...input) => ({ ...(list.shape(...input) as object), [member]: undefined })
  return { ...system, lists: [{ ...list, shape }] }
}

/** Reads a running directory by the recipe, with a configuration as an administrator writes it. */
async function read(name: string, { replaced = {}, lost = '', ...options }: ReadOptions): Promise<readonly Account[]> {
  const system = directorySystems.find((one) => one.name === name)
  const { parameters, oauth2 } = given[name] ?? {}
  const preset = (await readRecipes()).get(name)
  if (!system || !parameters || !oauth2 || !preset) throw new Error(`no directory ${name}`)
  await using server = await startSystem(withoutMember(system, lost), { now: () => noon.getTime(), ...options })
  await using folder = await temporaryFolder()
  const secret = { ...oauth2(server), ...replaced }
  const env = { SECRET: secret.clientSecret ?? 'unused', KEY: secret.privateKey ?? 'unused' }
  const written = {
    ...secret,
    ...(secret.clientSecret !== undefined && { clientSecret: '${env:SECRET}' }),
    ...(secret.privateKey !== undefined && { privateKey: '${env:KEY}' }),
  }
  const listUrl = String(preset.recipe.source.url).replace(/^https:\/\/[^/]+/, server.origin)
  const source = {
    preset: name,
    parameters,
    url: listUrl.replace(/(\$top|limit)=\d+/, `$1=${pageSize}`),
    ...(name === 'google-users' && { pages: { size: pageSize } }),
    oauth2: written,
    allowPrivate: true,
  }
  const platform = { baseUrl: 'http://127.0.0.1:9/public/v2', apiKey: '${env:SECRET}' }
  const connections = { directory: { target: { type: 'DIRECTORY' }, source } }
  const text = JSON.stringify({ platform, dataDir: folder.path, connections })
  const config = await configOfText({ file: join(folder.path, 'rollcall.yaml'), text, changedMs: 0 }, env)
  const [directory] = config.directories.values()
  if (!directory) throw new Error('there is no directory')
  return (await readAccounts(toDirectory(config, directory), { now: () => noon, signal, before: null })).accounts
}

function accountOf(name: string, person: Person): Omit<Account, 'id'> {
  const { loginOf, emailsOf } = given[name] as Given
  return {
    login: loginOf(person),
    emails: emailsOf(person),
    isEnabled: !hasLeft(person),
    lastSignInAt: person.index % 5 === 0 ? null : expect.stringMatching(/^2026-11-18T09:30:00/),
    employeeNumber: numberOf(person),
    firstName: person.first,
    lastName: person.last,
  }
}

const pages = isFull ? [1, 2] : [2]
const lasting: readonly Fault[] = pages.flatMap((page): Fault[] => [
  { kind: 'textCut', page },
  { kind: 'recordsCut', page },
  { kind: 'pageDoubled', page },
  { kind: 'pageRepeated', page },
  { kind: 'pageEmpty', page },
  { kind: 'html', page },
  { kind: 'loginPage', page },
  { kind: 'unauthorized', page },
  { kind: 'status', status: 500, page },
])

test('there is a server for each recipe of accounts', async () => {
  const recipes = [...(await readRecipes())].filter(([, { recipe }]) => recipe.listsAccounts).map(([name]) => name)

  expect(directorySystems.map(({ name }) => name).toSorted()).toEqual(recipes)
})

describe.each(Object.keys(given))('the recipe of accounts %s', (name) => {
  const system = directorySystems.find((one) => one.name === name)

  test.each([7, isFull ? 2500 : 130])('reads every account of %i people', async (people) => {
    const accounts = await read(name, { people })

    expect(accounts.map(({ id: _, ...account }) => account)).toEqual(
      inventRoster(people).map((person) => accountOf(name, person)),
    )
    expect(new Set(accounts.map(({ id }) => id)).size).toBe(people)
  })

  test('never takes a part for the whole', async () => {
    const size = Math.floor(pageSize * 2.5)
    const faults = lasting.filter((fault) => system && isNoticeable(fault, system, 3))

    for (const fault of faults) {
      const outcome = await read(name, { people: size, faults: [fault] }).then(
        (accounts) => accounts.length,
        ({ code }) => code,
      )
      const isRefused = outcome === 'source_unreadable' || outcome === 'source_unreachable'
      expect([fault, isRefused || outcome === size]).toEqual([fault, true])
    }
  })

  test('is refused with wrong credentials', async () => {
    await expect(read(name, { people: 7, replaced: { clientId: 'somebody' } })).rejects.toMatchObject({
      code: 'source_unreadable',
      message: expect.stringContaining(name === 'okta-users' ? 'that it knows the public key' : '127.0.0.1'),
    })
  })
})

test('accounts of Google that do not state whether they are suspended are refused', async () => {
  expect(await read('google-users', { people: 7, lost: 'archived' })).toHaveLength(7)
  await expect(read('google-users', { people: 30, lost: 'suspended' })).rejects.toMatchObject({
    code: 'source_unreadable',
    message: expect.stringContaining('30 of 30 rows cannot be read'),
  })
})

test.each([
  ['clientSecret', { clientSecret: 's' }, 'stands in for the secret'],
  ['subject', { subject: 'ana' }, 'leave issuer and subject out'],
])('the key of a client stands alone: no %s', async (_name, replaced, message) => {
  await expect(read('okta-users', { people: 7, replaced })).rejects.toMatchObject({
    message: expect.stringContaining(message),
  })
})
