import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connectorKinds } from '../../../src/connectors/registry/registry.ts'
import { type Ended, rollcall } from '../../helpers/cli.ts'
import { openWorkplace, type Workplace } from '../../helpers/workplace.ts'
import { type Host, peopleOn, startHost } from '../../helpers/world.ts'

test('no two kinds of source share a type or a scheme', () => {
  const types = connectorKinds.flatMap((kind) => kind.types)
  const schemes = connectorKinds.flatMap(({ discovery }) => discovery.schemes)
  const ofPaths = connectorKinds.filter(({ discovery }) => discovery.schemes.length === 0)

  expect(types).toEqual([...new Set(types)])
  expect(schemes).toEqual([...new Set(schemes)])
  expect(ofPaths).toHaveLength(1)
})

describe('a kind of source that is added to the registry', () => {
  const added = { NODE_OPTIONS: `--import ${new URL('../../helpers/sources/with-cards.ts', import.meta.url).href}` }
  const deck = [
    'Employee ID,First Name,Last Name,Work Email,Start Date,Termination Date',
    'E1,Ana,Anders,ana@example.com,2020-01-06,',
    'E2,Bo,Berg,bo@example.com,2021-02-01,',
    '',
  ].join('\n')

  let host: Host
  let work: Workplace
  let tenant: Awaited<ReturnType<Host['tenant']>>
  beforeAll(async () => {
    host = await startHost()
    tenant = await host.tenant()
    work = await openWorkplace({ baseUrl: host.platform.baseUrl, key: tenant.key }, { hasStore: true })
    await writeFile(join(work.folder, 'people.deck'), deck)
  })
  afterAll(async () => {
    await work[Symbol.asyncDispose]()
    await host[Symbol.asyncDispose]()
  })

  const run = (...args: string[]): Promise<Ended> => rollcall([...args, '--config', work.configFile], added)
  const init = (at: string, out: string) => {
    const platform = ['--platform-url', host.platform.baseUrl, '--key-file', join(work.folder, 'key')]
    return rollcall(['init', '--yes', '--replace', '--source', at, '--name', 'HR', '--out', out, ...platform], added)
  }

  test('is proposed, configured, checked and opened', async () => {
    const proposed = await init('cards://people.deck', work.configFile)
    const text = await readFile(work.configFile, 'utf8')
    const check = await run('check')
    const sync = await run('sync')

    expect(proposed).toMatchObject({ exit: 0, stderr: '' })
    expect(text).toContain('type: cards\n      deck: people.deck\n')
    expect(check.stdout).toContain('people.deck: 2 rows, 2 records, 0 rejected')
    expect([check.exit, sync.exit]).toEqual([0, 0])
    expect([...(await peopleOn(tenant.client)).keys()].toSorted()).toEqual(['E1', 'E2'])
  })

  test('has its settings checked and its secrets kept out of the configuration', async () => {
    const text = await readFile(work.configFile, 'utf8')
    const configured = async (lines: string) => {
      await writeFile(work.configFile, text.replace('      deck: people.deck\n', lines))
      return await run('check')
    }

    const wrong = await configured('      deck: people.deck\n      dock: people.deck\n      stamp: open-sesame\n')
    await writeFile(join(work.folder, 'stamp'), 'open-sesame\n')
    await writeFile(join(work.folder, 'people.deck'), `open-sesame${deck}`)
    const referenced = await configured('      deck: people.deck\n      stamp: ${file:stamp}\n')

    expect([wrong.exit, referenced.exit]).toEqual([78, 0])
    expect(wrong.stderr).toContain('source.dock: Unrecognized key: "dock" (did you mean "deck"?)')
    expect(wrong.stderr).toContain('source.stamp: a secret stands in the configuration')
    expect(wrong.stderr).not.toContain('open-sesame')
  })

  test('is named where init says what a source can be', async () => {
    const { exit, stderr } = await init('ftp://hr.example/people.csv', work.configFile)

    expect(exit).toBe(2)
    expect(stderr).toContain('an address with cards://, sftp://, https://, s3://, gs:// or az://')
  })
})
