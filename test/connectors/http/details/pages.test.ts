import { describe, expect, test } from 'vitest'
import { detailFailure, readDetails, routes, type SettingsFor } from '../../../helpers/sources/hr-details.ts'
import { type Answer, type HttpSettings, json } from '../../../helpers/sources/hr-server.ts'

/** Pages by page and per_page, with the next one in the header Link, as UKG Pro has them. */
function linkedPages(records: readonly unknown[]): Answer {
  return (request, response) => {
    const url = new URL(request.url ?? '', `http://${request.headers.host}`)
    const size = Number(url.searchParams.get('per_page'))
    const page = Number(url.searchParams.get('page') ?? '1')
    url.searchParams.set('page', String(page + 1))
    const link: Record<string, string> = page * size < records.length ? { link: `<${url.href}>; rel="next"` } : {}
    const total = { 'x-total-count': String(records.length) }
    json(records.slice((page - 1) * size, page * size), { ...link, ...total })(request, response)
  }
}

const persons = Array.from({ length: 53 }, (_, at) => ({ employeeId: 1000 + at, lastName: `Name ${at}` }))
const employments = persons
  .flatMap(({ employeeId }) => [
    {
      employeeId,
      jobTitle: 'Früher 人',
      dateOfTermination: '2020-01-31',
      effectiveDate: `2019-0${1 + (employeeId % 9)}-01`,
    },
    { employeeId, jobTitle: `Job ${employeeId}`, dateOfTermination: null, effectiveDate: '2021-02-01' },
  ])
  .reverse()

const ukg =
  (settings: HttpSettings = {}): SettingsFor =>
  (url) => ({
    ...{ url: `${url}/person-details?per_page=10`, pages: { by: 'link' } },
    join: [
      {
        ...{ url: `${url}/employment-details?per_page=25`, pages: { by: 'link' } },
        ...{ on: '/employeeId', with: 'employeeId', as: 'employment', take: 'latest by effectiveDate' },
      },
    ],
    ...settings,
  })

function ukgServer(details: readonly unknown[] = employments): Answer {
  return routes({ '/person-details': linkedPages(persons), '/employment-details': linkedPages(details) })
}

describe('two lists with pages of their own', () => {
  test('become one, as the persons and employments of UKG', async () => {
    const { records, reading, warnings, requests } = await readDetails(ukgServer(), ukg())

    expect(records.map((record) => [record.employeeId, record['employment.jobTitle']])).toEqual(
      persons.map(({ employeeId }) => [String(employeeId), `Job ${employeeId}`]),
    )
    expect(warnings).toEqual([])
    expect(requests).toHaveLength(6 + 5)
    expect(reading.source?.end).toMatch(/^page 6 is the last: .*; employment of \S+: page 5 is the last: /)
  })

  test('name the page and the number of a record that lacks its detail', async () => {
    const details = employments.filter(({ employeeId }) => employeeId !== 1026)

    const failure = await detailFailure(ukgServer(details), ukg())

    expect(failure).toMatchObject({
      code: 'source_unreadable',
      message: expect.stringMatching(
        /^person-details page 3 record 7 has no employment: \S+\/employment-details has no record with its employeeId: /,
      ),
    })
  })

  test('are refused if the second one ends too soon, whatever missingDetails says', async () => {
    const cut: Answer = (request, response) => {
      if (!request.url?.includes('page=3')) linkedPages(employments)(request, response)
      else json(employments.slice(50, 60), { 'x-total-count': String(employments.length) })(request, response)
    }
    const server = routes({ '/person-details': linkedPages(persons), '/employment-details': cut })

    const failure = await detailFailure(server, ukg({ missingDetails: 'cell' }))

    expect(failure).toMatchObject({
      code: 'source_unreadable',
      message: expect.stringMatching(/employment-details: .* counts 106 records/),
    })
  })
})
