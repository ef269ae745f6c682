import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readPlanFile } from '../../src/cli/session/plan-file.ts'
import { liveRecords, workspaceOf } from '../helpers/custom-records.ts'
import { openWorkplace } from '../helpers/workplace.ts'
import { type Host, peopleOn, startHost } from '../helpers/world.ts'

const text = { type: 'string' }
const schema = {
  type: 'object',
  required: ['id', 'name'],
  additionalProperties: false,
  properties: {
    id: text,
    name: text,
    department: { type: 'string', enum: ['Sales', 'Engineering'] },
    costCentre: { type: 'integer' },
    location: { type: 'object', properties: { city: text, country: { type: 'string', maxLength: 2 } } },
    fte: { type: 'number' },
    remote: { type: 'boolean' },
    security: { type: 'object', properties: { trainedOn: { type: 'string', format: 'date' } } },
    privacy: { type: 'object', properties: { trainedOn: { type: ['string', 'null'], format: 'date' } } },
    trainings: { type: 'array', items: text },
    laptop: { type: 'object', properties: { serial: text, returned: { type: 'boolean' } } },
    badges: { type: 'array', items: { type: 'integer' } },
    reviewedAt: { type: 'string', format: 'date-time' },
    notes: text,
  },
}

/** Fifteen columns beyond those that the platform knows of people. */
const record = `
          name: { template: '{First Name} {Last Name}' }
          department: Department
          costCentre: { column: Cost Centre, decimal: ',' }
          location.city: City
          location.country: { column: Country, map: { Germany: DE, Japan: JP } }
          fte: { column: FTE, decimal: ',' }
          remote: Remote
          security.trainedOn: { column: Security Training, format: dd.MM.yyyy }
          privacy.trainedOn: { column: Privacy Training, format: [yyyy-MM-dd, MM/dd/yyyy] }
          trainings: Trainings
          laptop.serial: { column: Laptop, blankWhen: [none] }
          laptop.returned: Laptop Returned
          badges: { column: Badges, separator: '|' }
          reviewedAt: { column: Reviewed, format: "yyyy-MM-dd'T'HH:mm:ssXXX" }
          notes: Notes`

const header =
  'Worker ID,Email,First Name,Last Name,Job Title,Hire Date,Department,Cost Centre,City,Country,FTE,Remote,Security Training,' +
  'Privacy Training,Trainings,Laptop,Laptop Returned,Badges,Reviewed,Notes'

type Employee = { readonly n: number; readonly department?: string }

function rowOf({ n, department = n % 2 ? 'Sales' : 'Engineering' }: Employee): string {
  return [
    `E${String(n).padStart(4, '0')}`,
    `e${n}@acme.example`,
    `Ana ${n}`,
    'Núñez',
    'Engineer',
    `2020-01-${String(1 + (n % 28)).padStart(2, '0')}`,
    department,
    n % 3 ? `4.${100 + n}` : '',
    n % 4 ? 'Köln' : '',
    n % 2 ? 'Germany' : 'Japan',
    n % 2 ? '"0,5"' : '1',
    n % 5 ? 'yes' : 'No',
    '01.03.2026',
    n % 2 ? '2026-04-05' : '04/05/2026',
    n % 3 ? 'Security; Privacy ;' : '',
    n % 7 ? `SN-${n}` : 'none',
    n % 6 ? 'no' : 'yes',
    `${n}|${n + 1}`,
    '2026-05-06T12:00:00+02:00',
    n % 5 ? '' : '"a ""quoted"" note,\nof two lines"',
  ].join(',')
}

function recordOf({ n, department = n % 2 ? 'Sales' : 'Engineering' }: Employee): object {
  return {
    id: `E${String(n).padStart(4, '0')}`,
    name: `Ana ${n} Núñez`,
    department,
    ...(n % 3 && { costCentre: 4100 + n }),
    location: { ...(n % 4 && { city: 'Köln' }), country: n % 2 ? 'DE' : 'JP' },
    fte: n % 2 ? 0.5 : 1,
    remote: n % 5 !== 0,
    security: { trainedOn: '2026-03-01' },
    privacy: { trainedOn: '2026-04-05' },
    ...(n % 3 && { trainings: ['Security', 'Privacy'] }),
    laptop: { ...(n % 7 && { serial: `SN-${n}` }), returned: n % 6 === 0 },
    badges: [n, n + 1],
    reviewedAt: '2026-05-06T10:00:00.000Z',
    ...(n % 5 === 0 && { notes: 'a "quoted" note,\nof two lines' }),
  }
}

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

test('one export feeds people and their records, in one run that is reported together', async () => {
  const { key, client, name } = await host.tenant()
  const workspace = await workspaceOf(host, name)
  const target = { name: 'Records', type: 'CUSTOM', workspaces: [workspace], displayNameKey: 'name', schema }
  await using work = await openWorkplace({ baseUrl: host.platform.baseUrl, key }, { hasStore: true })
  await work.configure({
    connection: `    also:
      acme-records:
        target: ${JSON.stringify(target)}
        verify: never
        record:${record}
    verify: never
`,
  })
  const all = Array.from({ length: 60 }, (_, at): Employee => ({ n: at + 1 }))
  const next = all.flatMap((one): Employee[] => {
    if (one.n === 9) return []
    return [one.n === 4 ? { n: 4, department: 'Sales' } : one.n === 5 ? { n: 5, department: 'Gardening' } : one]
  })

  await work.drop('one.csv', `${[header, ...all.map(rowOf)].join('\n')}\n`)
  const planned = await work.json<{ counts: object; also: { connection: string; counts: object }[] }>('plan')
  const first = await work.json<Reported>('sync', '--connection', 'acme')

  const [people, records] = [await peopleOn(client), await liveRecords(client)]
  await work.drop('two.csv', `${[header, ...next.map(rowOf)].join('\n')}\n`)
  const kept = join(work.folder, 'plan.json')
  await work.run('plan', '--show-values', '--out', kept)
  const { also = [] } = await readPlanFile(kept)
  const second = await work.json<Reported>('sync', '--connection', 'acme')
  const third = await work.json<Reported>('sync', '--connection', 'acme')

  expect(planned.document).toMatchObject({
    counts: { join: 60 },
    also: [{ connection: 'acme-records', counts: { join: 60, rejected: 0 } }],
  })
  expect(first).toMatchObject({
    exit: 0,
    document: {
      connection: 'acme',
      state: 'finished',
      alongside: [{ connection: 'acme-records', state: 'finished', sent: { session: { people: 60 } } }],
    },
  })
  expect(first.document.alongside[0]?.ridesWith).toBe(first.document.id)
  expect([...people.values()].map(({ identityId, email }) => [identityId, email]).toSorted()).toEqual(
    all.map(({ n }) => [`E${String(n).padStart(4, '0')}`, `e${n}@acme.example`]),
  )
  expect([...records.values()].toSorted(byId)).toEqual(all.map(recordOf))
  // Whoever decides about a record sees whose it is.
  expect(also.flatMap(({ changes }) => changes.filter(({ kind }) => kind === 'leave'))).toMatchObject([
    { identityId: 'E0009', person: { '.name': 'Ana 9 Núñez' } },
  ])
  expect(second.document).toMatchObject({
    counts: { leave: 1, update: 0, rejected: 0 },
    // The department of nobody: the row is rejected for the record alone, which stays as it was.
    alongside: [{ counts: { leave: 1, update: 1, rejected: 1 } }],
  })
  expect([...(await liveRecords(client)).values()].toSorted(byId)).toEqual(
    next.map((one) => recordOf(one.n === 5 ? { n: 5 } : one)),
  )
  expect((await peopleOn(client)).get('E0009')?.separatedAt).not.toBeNull()
  expect(third.document).toMatchObject({ state: 'unchanged', alongside: [{ state: 'unchanged' }] })
})

type Reported = {
  readonly id: string
  readonly alongside: readonly { readonly ridesWith: string }[]
}

function byId(a: object, b: object): number {
  return (a as { id: string }).id < (b as { id: string }).id ? -1 : 1
}
