import { describe, expect, test } from 'vitest'
import { applyRecipes } from '../../../src/daemon/config/apply-recipes.ts'
import { parseConfig } from '../../../src/daemon/config/document.ts'
import { configOfText } from '../../../src/daemon/config/load-config.ts'
import { Preset, readPresets, readRecipes } from '../../../src/daemon/config/presets.ts'
import { plainSecrets } from '../../../src/daemon/config/secret-settings.ts'
import { connectionText } from '../../../src/daemon/proposal/configuration.ts'
import { exampleConnection } from '../../../src/daemon/proposal/recipe-connection.ts'

const recipes = await readRecipes()

const shop = {
  title: 'Shop HR',
  source: {
    type: 'http',
    mode: 'snapshot',
    format: 'json',
    url: 'https://{company}.shop.example/reports/{report}?for={report}',
    headers: { 'X-Report': '{report}' },
    basic: { password: 'x' },
    method: 'POST',
    body: { showInactive: true, args: ['{company}', 2, '', 'hr.employee'] },
    records: '/data',
    pages: { by: 'offset', parameter: 'skip', sizeParameter: 'top', size: 100, in: 'body' },
    each: [{ url: 'https://{company}.shop.example/people/{id}', as: 'detail' }],
  },
  setup: ['Create a reader.'],
  asks: {
    parameters: {
      company: { label: 'company', example: 'acme', pattern: '[a-z0-9.-]+' },
      report: { label: 'report', example: 'All people', pattern: '.+', default: 'all' },
    },
    credentials: {
      'basic.username': { label: 'key', help: 'Under Account.' },
      'body.args.2': { label: 'second key', help: 'Under Account, too.' },
      'headers.X-Extra': { label: 'extra', help: 'On request.', optional: true },
    },
  },
  fields: { identityId: 'id' },
}
const presets = new Map([
  ['shop', Preset.parse(shop)],
  ['plain', Preset.parse({ title: 'Plain', fields: { identityId: 'id' } })],
])
const credentials = "basic: { username: '${env:KEY}' }, body: { args: { 2: '${env:KEY}' } }"
const complete = `preset: shop, parameters: { company: acme }, ${credentials}`

async function applied(source: string, preset = presets) {
  const text = `connections:\n  hr:\n    target: { name: HR }\n    source: { ${source} }\n`
  const document = await parseConfig(text, { env: { KEY: 'k', COMPANY: 'acme' }, folder: '/' })
  return applyRecipes(document, preset)
}

async function sourceOf(source: string) {
  const { document, problems } = await applied(source)
  expect(problems).toEqual([])
  return (document.values() as { connections: { hr: { source: Record<string, unknown> } } }).connections.hr.source
}

async function problemsOf(source: string) {
  const { problems } = await applied(source)
  return problems.map(
    ({ line, column, message }) => `${line}:${column} ${message.replace('connections.hr.source.', '')}`,
  )
}

describe('every recipe', () => {
  test.each([...recipes.keys()])('%s is valid with its examples, and says where it comes from', async (name) => {
    const preset = recipes.get(name)
    const example = connectionText(exampleConnection(name, preset?.recipe as NonNullable<typeof preset>['recipe']))
    const text = `platform: { apiKey: '\${env:KEY}' }\n${example.replaceAll(/\$\{file:[^}]*\}/g, "'${env:KEY}'")}`

    const config = await configOfText({ file: 'rollcall.yaml', text, changedMs: 0 }, { KEY: 'k' })

    const isDirectory = preset?.recipe.listsAccounts === true
    const connection = isDirectory ? 'directory' : 'hr'
    const source = (isDirectory ? config.directories : config.connections).get(connection)?.source
    expect(source?.settings).toMatchObject({ type: 'http', preset: name })
    expect(config.settings.find(({ path }) => path === `connections.${connection}.source.url`)?.value).toMatch(
      /^https:[^{}]+$/,
    )
    expect(config.settings.find(({ path }) => path === `connections.${connection}.source.url`)?.from).toEqual([
      { kind: 'preset', name },
    ])
  })

  const ofPeople = [...recipes].flatMap(([name, { recipe }]) => (recipe.listsAccounts ? [] : [name]))
  test.each(ofPeople)('%s says how leavers come into the list, where a list has none', (name) => {
    const checks = recipes.get(name)?.traps.map(({ check }) => check)

    expect(checks).toContain('no-leavers')
  })

  test('is none of the presets for exports', async () => {
    const forExports = await readPresets()

    expect(recipes.size).toBeGreaterThan(0)
    expect([...recipes.keys()].filter((name) => forExports.has(name))).toEqual([])
  })
})

describe('a recipe', () => {
  test('gives a connection all that it does not say', async () => {
    const source = await sourceOf(complete)

    expect(source).toEqual({
      ...shop.source,
      preset: 'shop',
      url: 'https://acme.shop.example/reports/all?for=all',
      headers: { 'X-Report': 'all' },
      basic: { username: 'k', password: 'x' },
      body: { showInactive: true, args: ['acme', 2, 'k', 'hr.employee'] },
      each: [{ url: 'https://acme.shop.example/people/{id}', as: 'detail' }],
    })
  })

  test('fills its parameters into the addresses of the connection, and leaves other texts alone', async () => {
    const source = await sourceOf(
      `${complete}, url: 'https://eu.shop.example/reports/{report}/{id}', login: { url: 'https://{company}.example/login', body: { text: '{report}' } }`,
    )

    expect(source).toMatchObject({
      url: 'https://eu.shop.example/reports/all/{id}',
      login: { url: 'https://acme.example/login', body: { text: '{report}' } },
    })
  })

  test('is overruled by the connection: members one by one, lists as a whole, and null removes', async () => {
    const source = await sourceOf(
      `${complete.replace('args: {', 'showInactive: null, args: {')}, pages: { size: 50 }, each: [], mode: delta, absence: hold`,
    )

    expect(source).toMatchObject({
      mode: 'delta',
      absence: 'hold',
      each: [],
      pages: { ...shop.source.pages, size: 50 },
      body: { args: ['acme', 2, 'k', 'hr.employee'] },
    })
    expect(source.body).not.toHaveProperty('showInactive')
  })

  test('mixes no settings of one way of paging into another', async () => {
    const source = await sourceOf(`${complete}, pages: { by: next, next: /next }`)

    expect(source.pages).toEqual({ by: 'next', next: '/next' })
  })

  test('asks for no credential that the connection replaces', async () => {
    const source = await sourceOf(
      `${complete.replace("basic: { username: '${env:KEY}' }", "basic: null, bearer: '${env:KEY}'")}`,
    )

    expect(source.bearer).toBe('k')
    expect(source).not.toHaveProperty('basic')
  })

  test('keeps a null of the connection that takes nothing away from it', async () => {
    const source = await sourceOf(`${complete}, fields: { email: null }`)

    expect(source.fields).toEqual({ email: null })
  })

  test('encodes its parameters in paths and queries, and nowhere else', async () => {
    const source = await sourceOf(complete.replace('company: acme', "company: acme, report: 'a/../b?c d&e=f'"))

    const encoded = 'a%2F..%2Fb%3Fc%20d%26e%3Df'
    expect(source.url).toBe(`https://acme.shop.example/reports/${encoded}?for=${encoded}`)
    expect(source.headers).toEqual({ 'X-Report': 'a/../b?c d&e=f' })
  })

  test('shows a parameter that is a reference as it is written, in the texts that hold it', async () => {
    const { document } = await applied(complete.replace('acme', "'${env:COMPANY}'"))

    const at = (...path: string[]) => document.writtenValueAt(['connections', 'hr', 'source', ...path])
    expect(at('url')).toMatchObject({ line: 4, written: 'https://${env:COMPANY}.shop.example/reports/all?for=all' })
    expect([at('headers', 'X-Report'), at('records')]).toEqual([null, null])
  })

  test('shows it so in an address of the connection too', async () => {
    const written = `${complete.replace('acme', "'${env:COMPANY}'")}, url: 'https://{company}.shop.example/all'`
    const { document } = await applied(written)
    const plain = await applied(written.replace('{company}', 'acme'))

    const at = ['connections', 'hr', 'source', 'url']
    expect(document.values()).toHaveProperty(at, 'https://acme.shop.example/all')
    expect(document.writtenValueAt(at)).toMatchObject({ written: 'https://${env:COMPANY}.shop.example/all' })
    expect(plain.document.writtenValueAt(at)).toMatchObject({ written: undefined })
  })

  test.each([
    [
      'a missing parameter',
      complete.replace('company: acme', ''),
      "4:41 parameters.company: is missing: company, such as 'acme'",
    ],
    [
      'an unknown parameter',
      complete.replace('acme', 'acme, compny: b'),
      '4:58 parameters.compny: unknown parameter (did you mean "company"?)',
    ],
    [
      'a parameter of another form',
      complete.replace('acme', 'ACME'),
      "4:52 parameters.company: is no company such as 'acme' (expected [a-z0-9.-]+)",
    ],
    ['a number', complete.replace('acme', '7'), "4:52 parameters.company: expected a text such as 'acme', in quotes"],
    [
      'nothing but dots',
      complete.replace('acme', "acme, report: '..'"),
      "4:66 parameters.report: is no report such as 'All people' (expected .+)",
    ],
    [
      'a host that ends the host',
      complete.replace('acme', 'evil.'),
      "4:52 parameters.company: is no company such as 'acme' (expected [a-z0-9.-]+)",
    ],
    [
      'a missing credential',
      complete.replace("username: '${env:KEY}'", ''),
      '4:67 basic.username: is missing: key. Under Account.',
    ],
    [
      'a secret that is written out',
      complete.replace("2: '${env:KEY}'", '2: abc'),
      '4:114 body.args.2: a secret stands in the configuration: put it into the environment or a file and write ${env:NAME} or ${file:PATH}',
    ],
    ['an unknown recipe', 'preset: shopp', '4:23 preset: unknown preset "shopp" (did you mean "shop"?)'],
    [
      'another type',
      `${complete}, type: csv`,
      '4:138 type: the recipe shop goes with type: http; take out this line, or the preset',
    ],
    [
      'parameters without a recipe',
      'preset: plain, type: http, parameters: { company: acme }',
      '4:54 parameters: are for a recipe: "rollcall recipes" lists them',
    ],
  ])('refuses %s at its place', async (_what, source, problem) => {
    expect(await problemsOf(source)).toEqual([problem])
  })

  test.each(['evil.example/', 'evil.example#', 'a@evil.example', 'evil.example:443', 'evil.example\\', '%2e'])(
    'leads no credentials to another host: %s',
    async (value) => {
      const lax = {
        ...shop,
        asks: {
          ...shop.asks,
          parameters: { ...shop.asks.parameters, company: { label: 'company', example: 'acme', pattern: '.*' } },
        },
      }
      const { document, problems } = await applied(
        complete.replace('acme', `'${value}'`),
        new Map([['shop', Preset.parse(lax)]]),
      )

      const { url } = (document.values() as { connections: { hr: { source: { url: string } } } }).connections.hr.source
      expect(problems).toHaveLength(1)
      expect(new URL(url).host).toBe('acme.shop.example')
    },
  )

  test.each([
    [
      'a placeholder that is no parameter',
      { source: { ...shop.source, records: '/{kind}' } },
      'source: {kind} is no parameter',
    ],
    [
      'a parameter that fills nothing',
      { source: { ...shop.source, url: 'https://a.example', headers: {}, each: [], body: {} } },
      'asks.parameters.company: no text holds {company}',
    ],
    [
      'an address that a parameter begins',
      { source: { ...shop.source, url: '{company}/{report}' } },
      'source.url: an address begins with https://',
    ],
    ['no steps', { setup: [] }, 'setup: say what to create in the HR system'],
    ['no source', { source: undefined }, 'setup and asks need a source'],
    [
      'an example that its pattern refuses',
      { asks: { parameters: { ...shop.asks.parameters, company: { label: 'c', example: 'A', pattern: 'a' } } } },
      'example and default must match the pattern',
    ],
  ])('is a mistake of ours with %s', (_what, changed, message) => {
    const parsed = Preset.safeParse({ ...shop, ...changed })

    expect(parsed.error?.issues.map((issue) => issue.message)).toContain(message)
  })
})

test('a constant of a recipe is no secret that somebody has written out', async () => {
  const { document } = await applied(complete)

  expect(plainSecrets(document)).toEqual([])
})

test('of a source whose recipe is unknown, nothing else is said', async () => {
  const text = `platform: { apiKey: '\${env:KEY}' }\nconnections:\n  hr:\n    target: { name: HR }\n    source: { preset: scin }\n`

  const loading = configOfText({ file: 'rollcall.yaml', text, changedMs: 0 }, { KEY: 'k' })

  await expect(loading).rejects.toMatchObject({
    message: 'rollcall.yaml:5:23: connections.hr.source.preset: unknown preset "scin" (did you mean "scim"?)',
  })
})

test('a mistake in a source with a recipe stands beside all other mistakes of the file', async () => {
  const text = `platform: { apiKey: '\${env:KEY}', timeout: 3 }
connections:
  hr:
    target: { name: HR }
    source: { preset: scim, parameters: { host: '/' } }
`

  const loading = configOfText({ file: 'rollcall.yaml', text, changedMs: 0 }, { KEY: 'k' })

  await expect(loading).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringMatching(
      /^rollcall\.yaml:1:\d+: platform\.timeout: .*\nrollcall\.yaml:5:\d+: .*bearer: is missing.*\nrollcall\.yaml:5:\d+: .*parameters\.host: is no host[^\n]*$/,
    ),
  })
})

test('a value that a recipe and its connection make up is refused as wrong, not as missing', async () => {
  const text = `platform: { apiKey: '\${env:KEY}' }
connections:
  hr:
    target: { name: HR }
    source: { preset: scim, parameters: { host: 'hr.example:99999' }, bearer: '\${env:KEY}' }
`

  const loading = configOfText({ file: 'rollcall.yaml', text, changedMs: 0 }, { KEY: 'k' })

  await expect(loading).rejects.toThrow(/:5:13: connections\.hr\.source\.url: expected an address/)
})

test('the digest of a connection covers what its recipe gives, and no secret', async () => {
  const digestOf = async (company: string, key: string) => {
    const text = `platform: { apiKey: '\${env:KEY}' }
connections:
  hr:
    target: { name: HR }
    source: { preset: scim, parameters: { host: ${company}.example }, bearer: '\${env:KEY}' }
`
    const config = await configOfText({ file: 'rollcall.yaml', text, changedMs: 0 }, { KEY: key })
    return config.connections.get('hr')?.digest
  }

  const digests = [await digestOf('acme', 'k'), await digestOf('acme', 'l'), await digestOf('beta', 'k')]

  expect(digests[1]).toBe(digests[0])
  expect(digests[2]).not.toBe(digests[0])
})
