import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../helpers/sources/folders.ts'
import { json, openHttp, pagesOfPeople, startHrServer } from '../../helpers/sources/hr-server.ts'

const unreadable = { code: 'source_unreadable' }

describe('a JSON list that cannot be understood is refused:', () => {
  const settings = { records: '/people', next: '/next' }

  test.each([
    ['nothing where the records should be', json({ data: [] }), 'expected a list of records at /people, found nothing'],
    ['an object there', json({ people: {} }), 'expected a list of records at /people, found a single object'],
    ['null there', json({ people: null }), 'found null'],
    ['broken JSON', json('{"people":[{"name":"Secret"'), 'is not valid JSON'],
    ['deep JSON', json(`{"people":${'['.repeat(100)}`), 'is nested deeper than 64 levels'],
    ['a next page that is true', json({ people: [], next: true }), 'holds no address and no token at /next'],
    ['a next page that is an object', json({ people: [], next: {} }), 'holds no address and no token at /next'],
    ['a next page of endless text', json({ people: [], next: 'x'.repeat(3000) }), 'holds no address and no token'],
    ['a next page that is no address', json({ people: [], next: 'http://' }), 'holds no address at /next'],
    ['itself as the next page', json({ people: [], next: '/people' }), 'leads back to a page that was read already'],
  ])('%s', async (_case, answer, expected) => {
    await using server = await startHrServer(answer)
    await using folder = await temporaryFolder()

    const opening = openHttp({ ...settings, url: `${server.url}/people` }, { folder: folder.path })

    await expect(opening).rejects.toMatchObject({ ...unreadable, message: expect.stringContaining(expected) })
    await expect(opening).rejects.not.toThrow(/Secret/)
  })

  test('a circle of pages', async () => {
    await using server = await startHrServer(pagesOfPeople(3, { 3: json({ people: [{ id: 'p3' }], next: '?page=2' }) }))
    await using folder = await temporaryFolder()

    const opening = openHttp({ ...settings, url: `${server.url}/people` }, { folder: folder.path })

    await expect(opening).rejects.toThrow(/page 3 of .* leads back to a page that was read already/)
    expect(server.requests).toHaveLength(3)
  })

  test('a server that gives the first page for every token', async () => {
    let token = 0
    await using server = await startHrServer((request, response) => {
      token += 1
      json({ people: [{ id: 1 }], next: `token-${token}` })(request, response)
    })
    await using folder = await temporaryFolder()

    const opening = openHttp({ ...settings, url: server.url, nextParameter: 'cursor' }, { folder: folder.path })

    await expect(opening).rejects.toThrow(/page 2 of .* leads back to a page that was read already/)
  })

  test('more pages than are allowed', async () => {
    await using server = await startHrServer(pagesOfPeople(4))
    await using folder = await temporaryFolder()

    const opening = openHttp({ ...settings, url: `${server.url}/people`, maxPages: 3 }, { folder: folder.path })

    await expect(opening).rejects.toThrow(/page 3 of .* is not the last page, and maxPages is 3/)
    expect(server.requests).toHaveLength(3)
  })

  test('records with more than 10,000 paths together', async () => {
    const people = [...Array(11).keys()].map((person) =>
      Object.fromEntries([...Array(1000).keys()].map((index) => [`${person}-${index}`, 1])),
    )
    await using server = await startHrServer(json({ people }))
    await using folder = await temporaryFolder()

    const opening = openHttp({ ...settings, url: `${server.url}/people` }, { folder: folder.path })

    await expect(opening).rejects.toThrow('people page 1: the records have more than 10000 different paths')
  })
})
