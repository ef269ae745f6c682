import { expect, test } from 'vitest'
import { detailFailure, routes } from '../helpers/sources/hr-details.ts'
import { type HttpSettings, json } from '../helpers/sources/hr-server.ts'
import { readRecipeFile } from './systems.ts'

test('an error of Finch inside status 200 is no detail', async () => {
  const { source } = await readRecipeFile('finch')
  const { type: _, ...http } = source
  const item = { individual_id: 'a', code: 202, body: { code: 202, name: 'pending', message: 'not read yet' } }
  const answers = routes({
    '/employer/directory': json({ paging: { count: 1, offset: 0 }, individuals: [{ id: 'a', is_active: true }] }),
    '/employer/individual': json({ responses: [{ individual_id: 'a', code: 200, body: { emails: [] } }] }),
    '/employer/employment': json({ responses: [item] }),
  })

  const failure = await detailFailure(
    answers,
    (url): HttpSettings =>
      JSON.parse(JSON.stringify({ ...http, allowPrivate: true }).replaceAll('https://api.tryfinch.com', url)),
  )

  expect(failure).toMatchObject({ message: expect.stringMatching(/record 1: \/code is not 200/) })
})
