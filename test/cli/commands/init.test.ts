import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { call } from '../../helpers/called.ts'
import { storeFolder } from '../../helpers/servers/provided.ts'
import { isFull } from '../../helpers/tier.ts'
import { type Host, peopleOn, startHost } from '../../helpers/world.ts'
import { families } from '../../samples/families.ts'

const samples = fileURLToPath(new URL('../../../config/samples/', import.meta.url))

let host: Host
let folder = ''
let tenant: Awaited<ReturnType<Host['tenant']>>

beforeAll(async () => {
  host = await startHost()
  tenant = await host.tenant()
  folder = await mkdtemp(join(tmpdir(), 'rollcall-test-'))
  await writeFile(join(folder, 'key'), `${tenant.key}\n`)
  await cp(await storeFolder(), join(folder, 'data', 'store'), { recursive: true })
})
afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
  await host[Symbol.asyncDispose]()
})

function init(out: string, ...args: string[]) {
  const options = [
    '--platform-url',
    host.platform.baseUrl,
    '--key-file',
    join(folder, 'key'),
    '--out',
    join(folder, out),
  ]
  return call(['init', '--yes', ...options, ...args])
}

function run(out: string, ...args: string[]) {
  return call([...args, '--config', join(folder, out)])
}

async function csv(name: string, text: string): Promise<string> {
  await writeFile(join(folder, name), text)
  return join(folder, name)
}

describe.each(Object.keys(families))('from the sample of %s to a first plan', (name) => {
  // Planning takes longer than the rest together.
  const plans = isFull || name === 'personio-de'

  test(`it takes ${plans ? 'two commands' : 'a configuration that is valid'}, and nothing is asked`, async () => {
    const written = await init(`${name}.yaml`, '--source', join(samples, `${name}.csv`), '--name', name)
    const text = await readFile(join(folder, `${name}.yaml`), 'utf8')

    expect(written).toMatchObject({ exit: 0, stderr: '' })
    expect(text).toContain(`preset: ${name}\n`)
    expect(text).toContain(`apiKey: \${file:key}\n`)
    expect(text).not.toContain(tenant.key)
    if (!plans) return
    const plan = await run(`${name}.yaml`, 'plan', '--json')
    expect(plan.exit).toBe(0)
    expect(JSON.parse(plan.stdout)).toMatchObject({ rows: 300, records: 300, counts: { rejected: 0 } })
  })
})

test('a first run delivers what the configuration says, and the check has nothing to complain of', async () => {
  const people = await csv(
    'unknown.csv',
    'Pers-Nr.;Mail;Vorname;Zuname;Beginn;Status;Gehalt\n7;ana@example.com;Ana;Müller;31.01.2020;aktiv;5000\n8;bo@example.com;Bo;Groß;01.02.2021;weg;4000\n',
  )
  const fields = ['--field', 'identityId=Pers-Nr.', '--field', 'lastName=Zuname', '--field', 'startedAt=Beginn']

  const written = await init('unknown.yaml', '--source', people, '--left', 'weg', '--name', 'Ünknown HR', ...fields)
  const check = await run('unknown.yaml', 'check')
  const sync = await run('unknown.yaml', 'sync')

  expect(written).toMatchObject({ exit: 0, stderr: '' })
  expect(check.stdout).not.toContain('✖')
  expect([check.exit, sync.exit]).toEqual([0, 0])
  const there = await peopleOn(tenant.client)
  expect(there.get('7')).toMatchObject({
    email: 'ana@example.com',
    firstName: 'Ana',
    lastName: 'Müller',
    startedAt: '2020-01-31T00:00:00.000Z',
  })
  expect(JSON.stringify([...there.values()])).not.toContain('5000')
})

test('the text has no personal cell if it may end in a file, and the document none unless requested', async () => {
  const source = join(samples, 'generic.csv')

  const printed = await init('printed.yaml', '--source', source)
  const document = await init('document.yaml', '--source', source, '--json')
  const values = await init('values.yaml', '--source', source, '--json', '--show-values')

  expect(printed.stdout).toMatch(/identityId +Worker ID\n/)
  expect(printed.stdout).toContain('not read  Department, Location')
  expect(printed.stdout).toContain(`rollcall check --config ${join(folder, 'printed.yaml')}`)
  expect(printed.stdout + document.stdout).not.toContain('Singh')
  expect(JSON.parse(document.stdout)).toMatchObject({
    preset: 'generic',
    file: join(folder, 'document.yaml'),
    trouble: null,
  })
  expect(values.stdout).toContain('Singh')
})

describe('a mistake is explained in a sentence, and nothing is written', () => {
  const source = join(samples, 'generic.csv')

  test('a configuration that is there stays, unless it is to be replaced', async () => {
    await writeFile(join(folder, 'there.yaml'), 'mine\n')

    const refused = await init('there.yaml', '--source', source)
    const kept = await readFile(join(folder, 'there.yaml'), 'utf8')
    const replaced = await init('there.yaml', '--source', source, '--replace')

    expect(refused).toMatchObject({
      exit: 2,
      stdout: '',
      stderr: expect.stringContaining('there.yaml exists already and is not replaced'),
    })
    expect(kept).toBe('mine\n')
    expect(replaced.exit).toBe(0)
  })

  test('dates of which none decides how they are read, and two possible keys', async () => {
    const open = await csv(
      'open.csv',
      'Worker ID,Work Email,Hire Date\n1,a@example.com,01/02/2020\n2,b@example.com,03/04/2020\n',
    )
    const keys = await csv('keys.csv', 'Worker ID,Employee ID,Work Email\n1,a,a@example.com\n2,b,b@example.com\n')

    const dates = await init('open.yaml', '--source', open)
    const dated = await init('open.yaml', '--source', open, '--date-format', 'dd/MM/yyyy')
    const key = await init('keys.yaml', '--source', keys)

    expect(dates).toMatchObject({ exit: 2, stdout: '' })
    expect(dates.stderr).toBe(
      "✖ the dates in Hire Date can be read as MM/dd/yyyy or dd/MM/yyyy, and no date decides it: use --date-format 'MM/dd/yyyy'\n",
    )
    expect(dated.exit).toBe(0)
    expect(key).toMatchObject({
      exit: 2,
      stderr:
        "✖ several columns could be the key of a person (Worker ID, Employee ID): choose one with --field 'identityId=Worker ID'\n",
    })
  })

  test('a column whose name the configuration would read as a reference to a file', async () => {
    const path = await csv('reference.csv', 'Employee ID,${file:/etc/hostname}\n1,a@example.com\n2,b@example.com\n')

    const refused = await init('reference.yaml', '--source', path, '--field', 'email=${file:/etc/hostname}')

    expect(refused).toMatchObject({ exit: 2, stderr: expect.stringContaining('which begins a reference such as') })
    await expect(readFile(join(folder, 'reference.yaml'))).rejects.toThrow('ENOENT')
  })

  test.each([
    ['no source', [], 'name the export with --source'],
    ['a source that is not there', ['--source', join(samples, 'none.csv')], 'no file matches'],
    [
      'an unknown preset',
      ['--source', source, '--preset', 'wrokday'],
      'unknown preset "wrokday"; there are adp-workforce-now',
    ],
    [
      'an unknown field',
      ['--source', source, '--field', 'mail=Work Email'],
      '--field takes FIELD=COLUMN, with one of identityId',
    ],
    [
      'an unknown column',
      ['--source', source, '--field', 'email=Mail'],
      'the export has no column "Mail"; it has Worker ID',
    ],
    ['an unknown time zone', ['--source', source, '--time-zone', 'Berlin'], 'unknown time zone "Berlin"'],
    ['an unknown region', ['--source', source, '--region', 'mars'], 'name either --region or --platform-url'],
    [
      'a missing key file',
      ['--source', source, '--key-file', '/does/not/exist'],
      'cannot read the file /does/not/exist (ENOENT)',
    ],
  ])('%s', async (_what, args, message) => {
    const ended = await init('never.yaml', ...args)

    expect(ended.stderr).toContain(message)
    expect([2, 66, 78]).toContain(ended.exit)
    await expect(readFile(join(folder, 'never.yaml'))).rejects.toMatchObject({ code: 'ENOENT' })
  })
})

test('where the key lacks what runs need, the configuration is written and the command ends as a blocked one', async () => {
  await writeFile(join(folder, 'wrong-key'), 'no key of this platform\n')

  const ended = await init(
    'blocked.yaml',
    '--source',
    join(samples, 'generic.csv'),
    '--key-file',
    join(folder, 'wrong-key'),
  )

  expect(ended.exit).toBe(77)
  expect(ended.stdout).toContain(`✖ ${host.platform.baseUrl} answers 401: `)
  expect(await readFile(join(folder, 'blocked.yaml'), 'utf8')).toContain(`\${file:wrong-key}`)
})
